package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version returns what the Go toolchain recorded in the binary about its source.
func version() string {
	number, revision := "(devel)", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		number = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = " " + s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return fmt.Sprintf("muster %s%s %s %s/%s", number, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
