// Package gamehttp tests the HTTP interface for game servers without a Server SDK: the
// samples of docs/game-servers.md are run by the built binary, whole lives with players.
package gamehttp
