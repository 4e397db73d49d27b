package main

// private has nothing to do: Windows has no umask.
func private() {}
