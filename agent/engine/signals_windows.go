package engine

import "strconv"

// signalName returns a signal's number: Windows has no names for those of Linux.
func signalName(number int) string { return "signal " + strconv.Itoa(number) }
