// Package usermode runs the tests of isolation in a system of their own: a Linux
// kernel as a program (User Mode Linux), with this machine's files read-only and the
// one hierarchy of control groups of version 2, which many a machine that builds
// does not have.
package usermode
