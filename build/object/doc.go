// Package object keeps named files in buckets: what builds, scripts and game
// session logs are stored as, and what operators put beside them. It has the
// notions of S3 (buckets, keys, multipart uploads) because the tools that fill
// it speak S3; the door that speaks it is uploads.
//
// The rows are in the store, the bytes in internal/blob: an object lists the
// contents that it is made of, so a multipart upload is completed without
// copying a byte. Bytes are durable before the row that refers to them, and
// removed only after the last such row is gone. On PostgreSQL every node needs
// the same directory of contents (docs/builds.md).
//
// Buckets that begin with muster_ are the product's: the package that owns one
// guards what is put there (Guard). Their names have an underscore, so that no
// bucket at AWS can have them.
package object
