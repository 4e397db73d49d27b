package object

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/musterhq/muster/internal/blob"
	"github.com/musterhq/muster/internal/fault"
)

// The product's own buckets.
const (
	BuildBucket  = "muster_builds"  // uploaded by upload-build, as ACCOUNT/BUILD-ID
	ScriptBucket = "muster_scripts" // as ACCOUNT/SCRIPT-ID/VERSION
	LogBucket    = "muster_logs"    // logs of game sessions, as FLEET-ID/COMPUTE/NAME.zip
)

// Own returns the product's own buckets.
func Own() []string { return []string{BuildBucket, LogBucket, ScriptBucket} }

// Object is a named file.
type Object struct {
	Bucket      string            `json:"bucket"`
	Key         string            `json:"key"`
	Parts       []blob.Ref        `json:"parts"` // contents, in order
	Size        int64             `json:"size"`  // bytes
	ETag        string            `json:"etag"`  // without quotes: MD5, or, for several parts, that of their MD5s, and their number
	ContentType string            `json:"content_type,omitzero"`
	Headers     map[string]string `json:"headers,omitempty"` // of responses, besides Content-Type: Content-Disposition and the like, canonical names
	Meta        map[string]string `json:"meta,omitempty"`    // x-amz-meta-*, lower case names
	Modified    time.Time         `json:"modified"`
	Expires     time.Time         `json:"expires,omitzero"` // zero: never
}

// SHA256 returns that of the whole object, or "" if it has several parts.
func (o *Object) SHA256() string {
	if len(o.Parts) != 1 {
		return ""
	}
	return o.Parts[0].SHA256
}

func (o *Object) clone() *Object {
	c := *o
	c.Parts = slices.Clone(o.Parts)
	c.Headers = maps.Clone(o.Headers)
	c.Meta = maps.Clone(o.Meta)
	return &c
}

// Limits of names and counts, as in S3.
const (
	maxKey     = 1024 // bytes
	maxMeta    = 2048 // bytes of names and values, of Meta and of Headers each
	MaxParts   = 10000
	maxUploads = 1000 // concurrent multipart uploads
	maxBuckets = 1000
)

// path returns the key of an object's row. A bucket has no slash.
func path(bucket, key string) string { return bucket + "/" + key }

// checkKey checks an object's key against what S3 allows and the store can keep.
func checkKey(key string) error {
	switch {
	case key == "" || len(key) > maxKey:
		return fault.Invalid("Key: must have 1 to %d bytes", maxKey)
	case !utf8.ValidString(key) || strings.ContainsRune(key, 0):
		return fault.Invalid("Key: must be UTF-8 without NUL")
	}
	return nil
}

// checkHeaders checks headers of an upload against what S3 allows and the store can
// keep; what is their name for the caller.
func checkHeaders(what string, headers map[string]string) error {
	size := 0
	for k, v := range headers {
		size += len(k) + len(v)
		if !utf8.ValidString(k) || !utf8.ValidString(v) || strings.ContainsRune(k+v, 0) {
			return fault.Invalid("%s: %q must be UTF-8 without NUL", what, k)
		}
	}
	if size > maxMeta {
		return fault.Invalid("%s: %d bytes; at most %d are allowed", what, size, maxMeta)
	}
	return nil
}
