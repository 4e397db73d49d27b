// Package guides types the commands of docs/ten-minutes.md and docs/languages.md, as a reader does: each block in a
// shell of its own, on the built server, with players at other terminals who play the game to
// its end. It opens the documents' site on that server, too.
package guides
