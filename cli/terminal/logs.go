package terminal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/cli/client"
)

// lastLines bounds how long the following of a log waits for the last lines of a process that
// has ended: its agent sends them once more, in an archive.
const lastLines = 10 * time.Second

// SessionLog prints the end of the log of a game session's process, and with follow what it
// writes from then on, until the game session ends.
func (t *Terminal) SessionLog(ctx context.Context, id string, follow bool) error {
	logs := t.Client.SessionLogs()
	arn, err := t.Client.Sessions().GameSessionID(ctx, id)
	if err != nil {
		return err
	}
	p := logPrinter{t: t}
	if follow {
		return p.follow(ctx, logs, arn)
	}
	l, raw, err := logs.Get(ctx, arn)
	switch {
	case err != nil:
		return err
	case t.JSON:
		return WriteJSON(t.Out, raw)
	case l.Why != "":
		return errors.New(l.Why)
	}
	if err := p.print(l); !errors.Is(err, errLogOver) {
		return err
	}
	return nil
}

// errLogOver ends the following of a log.
var errLogOver = errors.New("the game session has ended")

// logPrinter prints what is new in a log.
type logPrinter struct {
	t    *Terminal
	last client.SessionLog
	of   string // name of the stream that was printed last
}

// follow prints a log until the game session ends, and then the last lines of its process.
func (p *logPrinter) follow(ctx context.Context, logs client.SessionLogs, arn string) error {
	awaiting, cancel := context.WithCancel(ctx)
	defer cancel()
	why := "" // the process has ended, and its last lines are not here yet
	err := logs.Follow(awaiting, arn, func(l client.SessionLog) error {
		if l.Ended && l.Process == "" && len(p.last.Streams) > 0 {
			if why == "" {
				time.AfterFunc(lastLines, cancel)
			}
			why = l.Why
			return nil
		}
		return p.print(l)
	})
	switch {
	case errors.Is(err, errLogOver):
		return nil
	case err == nil && why != "" && ctx.Err() == nil:
		return p.t.line("muster: " + why)
	}
	return err
}

func (p *logPrinter) print(l client.SessionLog) error {
	if p.t.JSON {
		if err := WriteJSON(p.t.Out, l); err != nil {
			return err
		}
	}
	for _, now := range l.Streams {
		var before client.LogStream
		at := slices.IndexFunc(p.last.Streams, func(s client.LogStream) bool { return s.Name == now.Name })
		switch {
		case l.Process != p.last.Process:
		case at >= 0:
			before = p.last.Streams[at]
		case l.Stored && len(p.last.Streams) > 0:
			continue // of a container beside the game server
		}
		if text := added(before, now); text != "" && !p.t.JSON {
			if err := p.show(now.Name, text, len(l.Streams) > 1); err != nil {
				return err
			}
		}
	}
	if l.Why != "" && l.Why != p.last.Why && !p.t.JSON {
		if err := p.t.line("muster: " + l.Why); err != nil {
			return err
		}
	}
	if l.Why == "" || l.Process != "" { // what was printed is still that of the process
		why := p.last.Streams
		p.last = l
		if l.Why != "" {
			p.last.Streams = why
		}
	}
	if l.Ended && (l.Stored || l.Process == "") {
		return errLogOver
	}
	return nil
}

// show prints text of a stream; as tail does, with the name where another one was before.
func (p *logPrinter) show(name, text string, several bool) error {
	if several && p.of != name {
		if err := p.t.line("==> " + name + " <=="); err != nil {
			return err
		}
	}
	p.of = name
	_, err := fmt.Fprint(p.t.Out, text)
	if err == nil && !strings.HasSuffix(text, "\n") && several {
		_, err = fmt.Fprintln(p.t.Out)
	}
	return err
}

// added returns what was written to a stream between two looks at its end.
func added(before, now client.LogStream) string {
	switch {
	case before.Text == "":
		return now.Text
	case before.End > 0 && now.End >= before.End:
		return now.Text[len(now.Text)-int(min(now.End-before.End, int64(len(now.Text)))):]
	case before.End > 0 && now.End > 0: // another file was begun
		return now.Text[len(now.Text)-int(min(now.End, int64(len(now.Text)))):]
	}
	for rest := before.Text; rest != ""; { // the two overlap by whole lines
		if text, ok := strings.CutPrefix(now.Text, rest); ok {
			return text
		}
		_, rest, _ = strings.Cut(rest, "\n")
	}
	return now.Text
}
