package shell

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/hosts/shell"
)

// Options say where a program runs.
type Options struct {
	Name string   // of the compute, for the prompt
	Dir  string   // its working directory
	Env  []string // its environment variables

	Start func(cmd *exec.Cmd) error // starts it, isolated
	End   func()                    // ends everything that it has started
}

// Exit codes of shells for programs that could not be started.
const (
	failed   = 255
	notFound = 127
)

// Refused returns the end of a shell in which nothing was started.
func Refused(problem string) protocol.ShellEnd {
	return protocol.ShellEnd{Code: failed, Problem: problem}
}

// Serve runs the program that a client asks for on a stream, and returns how it ended, for
// the last frame. It ends the program when ctx ends or the client goes.
func Serve(ctx context.Context, st *shell.Stream, c protocol.ShellCommand, o Options, control <-chan protocol.ShellFrame) protocol.ShellEnd {
	cmd, err := command(c, o)
	if err != nil {
		return protocol.ShellEnd{Code: notFound, Problem: err.Error()}
	}
	return serve(ctx, st, cmd, c.Terminal, o, control)
}

// shells are the programs that are started if a client asks for none, by preference. They
// read no files of the build's.
var shells = [][]string{{"/bin/bash", "--norc"}, {"/bin/sh"}}

// command returns the command that a client asks for. Like execve, it starts a program
// directly: patterns and pipes need a shell.
func command(c protocol.ShellCommand, o Options) (*exec.Cmd, error) {
	words := c.Command
	if len(words) == 0 {
		for _, shell := range shells {
			if _, err := os.Stat(shell[0]); err == nil {
				words = shell
				break
			}
		}
	}
	if len(words) == 0 {
		return nil, errors.New("this machine has no shell; name a program")
	}
	path := words[0]
	if !strings.ContainsRune(path, os.PathSeparator) {
		var err error
		if path, err = exec.LookPath(path); err != nil {
			return nil, err
		}
		if path, err = filepath.Abs(path); err != nil {
			return nil, err
		}
	}
	return &exec.Cmd{Path: path, Args: words, Dir: o.Dir, Env: append(o.Env, "HISTFILE=", "PS1="+o.Name+"$ ")}, nil
}
