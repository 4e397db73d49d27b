// Package blob stores the contents of files by their SHA-256, in one directory, once
// however often each is added.
//
// Content is durable before Finish returns: it is written to a temporary file,
// synced, renamed, and the directory is synced. So a crash leaves only complete files
// and temporaries, which Sweep removes at the next start. The package does not know
// who refers to a content: the caller says so when it removes contents (Remove,
// Sweep). A content that was just added is pinned until its caller has recorded that
// it is used, so that it cannot be removed in between.
package blob
