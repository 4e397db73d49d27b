// Package object stores named files in buckets: builds, scripts and game session
// logs, and files that operators add. It has the concepts of S3 (buckets, keys,
// multipart uploads) because the tools that upload files use S3; the door for them is
// uploads.
//
// The rows are in the store, the bytes in internal/blob: an object lists the contents
// that it consists of, so a multipart upload is completed without copying a byte.
// Bytes are durable before the row that refers to them, and removed only after the
// last such row is gone. On PostgreSQL every node needs the same directory of
// contents (docs/builds.md).
//
// Buckets that begin with muster_ are the product's: the package that owns one checks
// what is put there (Guard). Their names have an underscore, so no bucket at AWS can
// have the same name.
package object
