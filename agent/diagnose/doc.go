// Package diagnose says in a sentence why a program could not be started, or
// why it ended, from what is visible on the machine: the file, how the process
// ended, and its last lines on standard error. Fleet events, logs and the
// preflight show its sentences.
package diagnose
