//go:build !linux

package shell

import (
	"context"
	"os/exec"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/hosts/shell"
)

// Supported reports whether this system runs remote shells.
const Supported = false

func serve(context.Context, *shell.Stream, *exec.Cmd, *protocol.ShellTerminal, Options, <-chan protocol.ShellFrame) protocol.ShellEnd {
	return Refused("agents run remote shells on Linux only")
}
