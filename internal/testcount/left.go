package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// ending is how long processes may take to end after the tests.
const ending = 5 * time.Second

// addLeft counts what tests left behind, if dir was their folder for temporary files.
// Processes get some time to end.
func (c *counts) addLeft(dir string, within time.Duration, out io.Writer) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if runtime.GOOS != "linux" {
		fmt.Fprintln(os.Stderr, "testcount: processes that tests left are looked for on Linux alone")
	}
	all, err := outlasting(dir, within)
	if err != nil {
		return err
	}
	for _, p := range all {
		fmt.Fprintf(out, "--- LEFT: process %d: %s\n", p.pid, p.command)
	}
	files, err := leftFiles(dir)
	if err != nil {
		return err
	}
	for _, path := range files {
		fmt.Fprintf(out, "--- LEFT: %s\n", path)
	}
	c.failed += len(all) + len(files)
	return nil
}

// outlasting returns the processes that use a folder and do not end within a time.
func outlasting(dir string, within time.Duration) ([]process, error) {
	for end := time.Now().Add(within); ; time.Sleep(50 * time.Millisecond) {
		all, err := processesOf(dir)
		if err != nil || len(all) == 0 || time.Now().After(end) {
			return all, err
		}
	}
}

// theirs are prefixes of names that other programs leave in the folder for temporary
// files: the go command, which removes its own when it ends, and Java.
var theirs = []string{"go-build", "go-link", "hsperfdata_"}

func leftFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	var all []string
	for _, e := range entries {
		if !slices.ContainsFunc(theirs, func(prefix string) bool { return strings.HasPrefix(e.Name(), prefix) }) {
			all = append(all, filepath.Join(dir, e.Name()))
		}
	}
	return all, err
}
