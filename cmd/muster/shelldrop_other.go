//go:build !linux && !windows && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package main

import "os"

// dropInput does nothing: what was typed and not yet read stays.
func dropInput(*os.File) {}
