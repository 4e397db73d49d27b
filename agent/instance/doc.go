// Package instance runs one instance of a fleet on this machine: it installs the build,
// keeps the processes of the runtime configuration running, and ends them when the
// instance should end.
//
// An Instance has one goroutine, Run, that owns the desired state and the status
// (status.go). Other goroutines send it changes and read a snapshot of its state.
// Installing and stopping take long, so they run concurrently and report back. Its parts
// have their own state:
//
//   - slots are the places for processes, and the processes in them;
//   - launcher starts processes, and reports how they end;
//   - Home is the folder of the instance: the build's tree, logs, and the files with which
//     the next agent takes over;
//   - jail.Jail isolates the processes.
package instance
