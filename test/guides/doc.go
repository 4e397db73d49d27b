// Package guides types the commands of the tutorials and of docs/languages.md, as a reader does:
// each block in a shell of its own, on the built server, with players at other terminals who
// play the game to its end. It types those of README.md and of the how-to guides, and opens the
// documents' site. The table in blocks_test.go says of each block in docs which test types it.
package guides
