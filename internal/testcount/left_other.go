//go:build !linux

package main

import (
	"fmt"
	"os"
)

// processesOf says that it cannot look: only Linux shows what processes have to do with
// a folder.
func processesOf(string) ([]process, error) {
	fmt.Fprintln(os.Stderr, "testcount: processes that tests left are looked for on Linux alone")
	return nil, nil
}
