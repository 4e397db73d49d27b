// Package app puts Muster together: it reads nothing but its Options, builds
// the store, the domain and the doors, and owns their start and their stop. It
// is the one package that knows everyone.
//
//	options.go    what can be set, defaults, validation
//	domain.go     the store and the packages of the domain on it
//	doors.go      who talks to us: API, game servers, console
//	access.go     who may call, and the first key; signatures.go checks theirs
//	listen.go     the listener, TLS beside plain, the base URL
//	mux.go        which door a request goes to
//	lifecycle.go  start, stop, and stopping by itself
//	show.go       the demo, last to start and first to stop
//	offline.go    what operators do with the state while no server has it
//
// The demo of `muster local` is in app/demo.
package app
