// Package placement tests placement from outside: the built binary, AWS's Go
// SDK, and game server processes on real sockets.
package placement
