// Package shell runs the programs of remote shells: on a terminal, or with separate
// streams of input, output and errors. How a program is isolated is given to it.
package shell
