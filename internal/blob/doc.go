// Package blob keeps the contents of files by what they are: each under the
// SHA-256 of its bytes, in one directory, once however often it is added.
//
// Content is durable before Finish returns: written to a temporary file, synced,
// renamed, and the directory synced. So a crash leaves whole files and
// temporaries, which the next start clears. Who refers to a content is not known
// here: the caller says so when it asks to remove (Remove, Sweep). A content
// that was just added is pinned until its caller has written down that it is
// used, so that no removal can come between.
package blob
