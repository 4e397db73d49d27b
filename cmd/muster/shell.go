package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"golang.org/x/term"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/plain"
)

// shellAccessCommand is `muster shell`.
type shellAccessCommand struct {
	clientFlags
	Access    string   `placeholder:"FILE" help:"Use the credentials in an answer of GetComputeAccess or GetInstanceAccess, as the AWS CLI prints it, in place of asking for some; - reads it from standard input. FLEET and COMPUTE are then left out."`
	Process   string   `placeholder:"ID" help:"Run among the processes of this game server process (its id, or a part of it), which 'muster hosts show' lists: the program sees them, and ends with it."`
	Container string   `placeholder:"NAME" help:"On a compute of a container fleet: the container in which the program runs. Default: that of the game server."`
	Terminal  bool     `short:"t" help:"Give the program a terminal; that is the default for a shell, where standard input is one."`
	Streams   bool     `short:"T" help:"Keep input, output and errors apart; that is the default for a program."`
	Fleet     *string  `arg:"" optional:"" help:"The fleet: name, id, a part of the id, or ARN."`
	Compute   *string  `arg:"" optional:"" help:"The compute: its name, which is the id of the instance, a part of that, or ARN."`
	Program   []string `arg:"" optional:"" help:"The program and its arguments, after --; without one, a shell."`
}

// words returns all arguments, since those behind credentials for one compute are only the
// program's.
func (c *shellAccessCommand) words() (all []string) {
	for _, word := range []*string{c.Fleet, c.Compute} {
		if word != nil {
			all = append(all, *word)
		}
	}
	return append(all, c.Program...)
}

// Help is shown by --help.
func (shellAccessCommand) Help() string {
	return `The program runs in the folder of the build, as the instance's user, and isolated as game servers are. On a compute of a container fleet it runs in a container instead, as that container's user, with its files and limits. It ends with the connection; its exit code becomes that of this command, and 255 stands for a shell that Muster refused or ended.

The server must run with --remote-access, the agent of the host with --allow-shells, and the key needs the role remote-shell or admin. Each shell is recorded in the audit log.

On a terminal, a line that begins with ~. ends the connection. What the program writes reaches the terminal as it is, as with ssh; when it has ended, the terminal's modes are set back, and its answers to the program are dropped.

Credentials for one compute, valid for 15 minutes, can be used directly, too:

    aws gamelift get-compute-access --fleet-id F --compute-name C > access.json
    muster shell --access access.json -- ls -l

or exported as AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.`
}

// Run runs a program in an instance.
func (c *shellAccessCommand) Run(t *streams, at *client.Client) error {
	words, err := c.authorize(t.ctx, at)
	if err != nil {
		return err
	}
	if c.Terminal && c.Streams {
		return errors.New("shell: a program has either a terminal or separate streams; leave out -t or -T")
	}
	of := client.Shell{ShellCommand: protocol.ShellCommand{Command: words, Process: c.Process, Container: c.Container}, In: os.Stdin, Out: t.screen, Err: t.screenErr}
	if c.Access == "-" {
		of.In = nil // it was the credentials
	}
	isTerminal := term.IsTerminal(int(os.Stdin.Fd()))
	ctx := context.WithoutCancel(t.ctx) // signals are the program's
	var end protocol.ShellEnd
	if c.Terminal || isTerminal && len(words) == 0 && !c.Streams {
		end, err = onTerminal(ctx, at, of, isTerminal)
	} else {
		names, stop := signalNames()
		defer stop()
		of.Signals = names
		end, err = at.Shell(ctx, of)
	}
	if err != nil {
		return err
	}
	if end.Problem != "" {
		fmt.Fprintln(t.err, "muster:", plain.Line(end.Problem)) // the host may have written it
	}
	if end.Code != 0 {
		return failed(end.Code)
	}
	return nil
}

// authorize makes the client use credentials for a compute, and returns the program to
// run: all words, if the credentials were given, and otherwise those after the fleet and
// the compute.
func (c *shellAccessCommand) authorize(ctx context.Context, at *client.Client) (words []string, err error) {
	switch {
	case c.Access != "":
		text, err := readAccess(c.Access)
		if err == nil {
			at.Credentials, err = client.ParseAccess(text)
		}
		if err != nil {
			return nil, fmt.Errorf("access: %w", err)
		}
		return c.words(), nil
	case client.IsAccess(at.Credentials):
		return withoutTarget(c.words(), at.Credentials), nil
	case c.Fleet == nil || c.Compute == nil:
		return nil, errors.New("shell: name the fleet and the compute, as 'muster shell FLEET COMPUTE', or give --access")
	}
	fleet, err := at.FindFleetID(ctx, *c.Fleet)
	if err != nil {
		return nil, err
	}
	compute, err := at.FindCompute(ctx, fleet, *c.Compute)
	if err != nil {
		return nil, err
	}
	if c.Process != "" {
		if c.Process, err = at.FindProcess(ctx, fleet, compute, c.Process); err != nil {
			return nil, err
		}
	}
	at.Credentials, err = at.ComputeAccess(ctx, fleet, compute)
	return c.Program, err
}

// maxAccess bounds an answer of GetComputeAccess, in bytes.
const maxAccess = 64 << 10

func readAccess(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(io.LimitReader(os.Stdin, maxAccess))
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxAccess))
}

// withoutTarget removes the fleet and the compute for which credentials are, if the words
// begin with them, or with parts of their ids.
func withoutTarget(words []string, k client.Credentials) []string {
	if len(words) >= 2 && client.IsAccessTo(k, words[0], words[1]) {
		return words[2:]
	}
	return words
}

// onTerminal runs a program on a terminal like ours.
func onTerminal(ctx context.Context, at *client.Client, of client.Shell, isTerminal bool) (protocol.ShellEnd, error) {
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	of.Terminal = &protocol.ShellTerminal{Type: os.Getenv("TERM"), ShellSize: protocol.ShellSize{Columns: 80, Rows: 24}}
	if isTerminal {
		fd := int(os.Stdin.Fd())
		if columns, rows, err := term.GetSize(fd); err == nil {
			of.Terminal.ShellSize = protocol.ShellSize{Columns: uint16(columns), Rows: uint16(rows)}
		}
		before, err := term.MakeRaw(fd)
		if err != nil {
			return protocol.ShellEnd{}, fmt.Errorf("shell: the terminal does not pass on each key: %w", err)
		}
		defer term.Restore(fd, before)
		sizes, stop := terminalSizes(fd)
		defer stop()
		of.Sizes = sizes
		if of.In != nil {
			typed := readKeys(of.In)
			of.In = &escaping{from: typed, leave: func() { leave(errLeft) }, begun: true}
			if term.IsTerminal(int(os.Stdout.Fd())) {
				modes := newScreenModes(of.Out)
				of.Out = modes
				defer typed.settle(modes, os.Stdin)
			}
		}
	}
	names, stop := signalNames()
	defer stop()
	of.Signals = names
	end, err := at.Shell(ctx, of)
	if errors.Is(context.Cause(ctx), errLeft) {
		return protocol.ShellEnd{Code: 255, Problem: errLeft.Error()}, nil
	}
	return end, err
}

var errLeft = errors.New("~. has ended the connection")

// escaping reads the keys of a terminal until a line begins with ~. which ends the
// connection, whatever the program does.
type escaping struct {
	from  io.Reader
	leave func()
	begun bool // at the beginning of a line
	tilde bool // behind a ~ at the beginning of a line
}

// Read implements io.Reader. The tilde is passed on with the next key.
func (e *escaping) Read(p []byte) (int, error) {
	if len(p) < 2 {
		return e.from.Read(p)
	}
	for {
		n, err := e.from.Read(p[:len(p)-1])
		out := make([]byte, 0, n+1)
		for _, key := range p[:n] {
			switch {
			case e.tilde && key == '.':
				e.leave()
				return 0, io.EOF
			case e.tilde:
				e.tilde = false
				if key != '~' { // two of them are one
					out = append(out, '~')
				}
			case e.begun && key == '~':
				e.tilde, e.begun = true, false
				continue
			}
			e.begun = key == '\r' || key == '\n'
			out = append(out, key)
		}
		if len(out) > 0 || err != nil {
			return copy(p, out), err
		}
	}
}

// signalNames returns the names of the signals that this process receives from now on, for
// the program; they end nothing here.
func signalNames() (names <-chan string, stop func()) {
	received, to, over := make(chan os.Signal, 8), make(chan string), make(chan struct{})
	signal.Notify(received, passedOn()...)
	go func() {
		for {
			select {
			case sig := <-received:
				select {
				case to <- nameOf(sig):
				case <-over:
					return
				}
			case <-over:
				return
			}
		}
	}()
	return to, func() {
		signal.Stop(received)
		close(over)
	}
}
