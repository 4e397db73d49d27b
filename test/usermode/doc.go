// Package usermode runs the tests of isolation in a separate system: a Linux kernel as
// a program (User Mode Linux), with this machine's files read-only and the unified
// hierarchy of control groups version 2, which many build machines lack.
package usermode
