// Package uploads is the door for files: the subset of Amazon S3's API that AWS's tools
// use to upload builds, to download logs, and to store files for CreateBuild's
// StorageLocation. URLs are path-style, /BUCKET/KEY, on the listener that serves
// everything else.
//
// Objects: PutObject, GetObject with ranges, HeadObject, DeleteObject, multipart
// uploads. Buckets: create, head, delete, list, list objects. Requests for anything
// else in S3 get 501 NotImplemented; nothing is ignored. Callers sign with an
// operator's key or with the temporary credentials of RequestUploadCredentials, which
// are valid for one object, or use a URL that Muster signed.
//
// The rules about builds and objects are in build and build/object.
package uploads
