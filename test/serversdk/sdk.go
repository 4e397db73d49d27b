// Package serversdk tests the game server door with AWS's own Go Server SDK, unchanged,
// against the built binary (MUSTER_BIN).
package serversdk
