// Package docs is the project's documents, as Muster serves them at /docs/.
//
// README.md is the first page, and its lists are the navigation: every other document is in one of
// them. Package site makes pages of them.
package docs

import "embed"

// Files are the documents and their pictures.
//
//go:embed *.md decisions/*.md pictures
var Files embed.FS
