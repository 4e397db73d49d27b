// Package node gives black-box tests a Muster to speak to: in their own process
// on a free port, or the built binary that MUSTER_BIN names, which can be killed
// and started again. It knows the commands' contract with the outside (flags,
// the ready line, /readyz) and makes AWS's Go SDK clients for the API.
package node
