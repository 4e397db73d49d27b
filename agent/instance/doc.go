// Package instance runs one instance of a fleet on this machine: its build is
// installed, the processes of the runtime configuration are kept running, and all ends
// when the instance should end.
//
// An Instance has one goroutine, Run, that owns the desired state and the status
// (status.go). Others hand it what should change, and read a snapshot of what is. What
// takes long, installing and stopping, runs beside it and reports back. Its parts have
// a state of their own:
//
//   - slots are the places for processes, and who is in them;
//   - launcher starts processes, and reports how they end;
//   - Home is the folder of the instance: the build's tree, logs, and the files with which
//     the next agent takes over;
//   - jail.Jail isolates the processes.
package instance
