// Package isolate limits a process and everything it starts to a share of the
// machine, on Linux: control groups (Group) limit memory, processors, the number of
// processes and where they send to; a Jail limits them to the rights of a user, a view of
// the machine with only their own processes and few folders of others, and fewer
// system calls.
//
// A process enters its jail before its program runs: it is started as our own program
// (Enter), which enters the jail and then becomes the game server. Everything it
// starts later is in the jail as well, and can be killed as a whole.
package isolate
