package main

import (
	"encoding/json"
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/musterhq/muster/internal/release"
)

// version returns what this program says of itself.
func version() string { return release.This().Line("muster") }

// versionCommand is `muster version`.
type versionCommand struct{ outputFlags }

// Run prints the version.
func (c versionCommand) Run(t *streams) error {
	if c.json() {
		return json.NewEncoder(t.out).Encode(release.This())
	}
	_, err := fmt.Fprintln(t.out, version())
	return err
}

// versionFlag is --version, on its own or with any command.
type versionFlag bool

// BeforeReset is called by kong before it looks at the rest of the command line. It prints the
// version and ends the program.
func (versionFlag) BeforeReset(k *kong.Kong) error {
	fmt.Fprintln(k.Stdout, version())
	k.Exit(0)
	return nil
}
