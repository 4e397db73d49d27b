package isolate

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// Limits are what a group may take; zero members are unlimited.
type Limits struct {
	MemoryMiB int
	CPUMillis int // thousandths of a processor
	Processes int // and threads
}

// Variable carries what Enter has to do.
const Variable = "MUSTER_ISOLATE"

// order is the content of Variable.
type order struct {
	Join    []string // files to which the process writes its number
	Program string
}

// Wrap changes a command so that it runs as launcher, our own program, which
// joins the group and then becomes the command's program. Its arguments stay.
func (g *Group) Wrap(cmd *exec.Cmd, launcher string) error {
	text, err := json.Marshal(order{g.joins(), cmd.Path})
	if err != nil {
		return fmt.Errorf("isolate: %w", err)
	}
	cmd.Path = launcher
	cmd.Env = append(cmd.Env, Variable+"="+string(text))
	return nil
}

// Enter does what Wrap ordered, if anything: it joins the group and becomes the
// program. A main function calls it first. It returns only where nothing was
// ordered; where it fails the process ends with code 126.
func Enter() {
	text := os.Getenv(Variable)
	if text == "" {
		return
	}
	err := enter(text)
	fmt.Fprintln(os.Stderr, "muster: the program could not be started in its group:", err)
	os.Exit(126)
}

func enter(text string) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	for _, file := range o.Join {
		if err := os.WriteFile(file, []byte("0"), 0); err != nil {
			return fmt.Errorf("join: %w", err)
		}
	}
	if err := os.Unsetenv(Variable); err != nil {
		return err
	}
	return become(o.Program, os.Args, os.Environ())
}

// ErrUnavailable says that this machine or user can make no groups.
var ErrUnavailable = errors.New("control groups cannot be made here")
