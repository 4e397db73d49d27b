// Package isolate holds a process and all that it starts to a share of the machine,
// on Linux: memory, processors, how many processes there may be and where they send
// to, by control groups (Group); the rights of a user; a view of the machine with its
// own processes and few folders of others; and fewer system calls (Jail).
//
// A process goes into its jail before its program is there: it is started as our
// own program (Enter), which goes in and then becomes the game server. Everything
// it starts later is there as well, and can be ended whole.
package isolate
