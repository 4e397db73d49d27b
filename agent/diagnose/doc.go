// Package diagnose says in a sentence why a program could not be started, or
// why it ended, from what can be seen on the machine: the file, how the process
// ended, and what it last wrote to its standard error. It is what fleet events,
// logs and the preflight tell people.
package diagnose
