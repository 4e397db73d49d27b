package main

import "os"

// hangups gets nothing: there is no such signal.
func hangups() <-chan os.Signal { return nil }
