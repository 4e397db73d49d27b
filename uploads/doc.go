// Package uploads is the door through which files come and go: the subset of
// Amazon S3's API that AWS's tools use to send builds, to fetch logs, and to put
// files where CreateBuild's StorageLocation finds them. Path style, /BUCKET/KEY,
// on the listener that serves everything else.
//
// Objects: PutObject, GetObject with ranges, HeadObject, DeleteObject, multipart
// uploads. Buckets: create, head, delete, list, list objects. What else S3 has
// is answered with 501 NotImplemented, never ignored. Callers sign with an
// operator's key, with the temporary credentials of RequestUploadCredentials,
// which are good for one object, or by a URL that Muster signed.
//
// Rules about builds and objects are in build and build/object.
package uploads
