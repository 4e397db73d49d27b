// Package app assembles Muster: from its Options alone it builds the store, the
// domain and the doors, and it owns their start and their stop. It is the one
// package that imports all others.
//
//	options.go    what can be set, defaults, validation
//	domain.go     the store and the packages of the domain on it
//	doors.go      the doors: API, game servers, console and others
//	access.go     the callers and the first key; signatures.go checks signatures
//	site.go       the listener, TLS and plain connections, the base URL
//	member.go     the node's part in a cell of several nodes
//	mux.go        which door a request goes to
//	lifecycle.go  start, stop, and stopping without a request
//	local.go      the demo and this machine's host, last to start and first to stop
//	offline.go    operations on the state without a running server
//
// The demo of `muster local` is in app/demo.
//
//go:generate go test -count=1 -run TestReference -update .
package app
