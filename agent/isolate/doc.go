// Package isolate holds a process and all that it starts to a share of the
// machine: memory, processors and how many processes there may be, by control
// groups of Linux, version 2 or 1, where the agent may make them.
//
// A process joins its group before its program is there: it is started as our
// own program (Enter), which joins and then becomes the game server. Everything
// it starts later is in the group as well, so a group can be ended whole.
package isolate
