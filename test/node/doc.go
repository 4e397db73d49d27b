// Package node runs a Muster for black-box tests: in their own process on a free port,
// or as the built binary that MUSTER_BIN names, which can be killed and started again.
// It relies only on the commands' public contract (flags, the ready line, /readyz) and
// creates AWS's Go SDK clients for the API.
package node
