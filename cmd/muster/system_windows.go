package main

import (
	"errors"
	"os"
)

// hangups, comparisons and replacements return nil: Windows has no such signals.
func hangups() <-chan os.Signal      { return nil }
func comparisons() <-chan os.Signal  { return nil }
func replacements() <-chan os.Signal { return nil }

func replace() error { return errors.New("replace: Windows cannot; stop the agent and start it again") }

// private has nothing to do: Windows has no umask.
func private() {}
