package terminal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/musterhq/muster/cli/client"
)

// SessionLog prints the end of the log of a game session's process, and with follow what it
// writes from then on, until the game session ends.
func (t *Terminal) SessionLog(ctx context.Context, id string, follow bool) error {
	logs := t.Client.SessionLogs()
	arn, err := logs.GameSessionID(ctx, id)
	if err != nil {
		return err
	}
	p := logPrinter{t: t}
	if follow {
		err := logs.Follow(ctx, arn, p.print)
		if errors.Is(err, errLogOver) {
			return nil
		}
		return err
	}
	l, raw, err := logs.Get(ctx, arn)
	switch {
	case err != nil:
		return err
	case t.JSON:
		return WriteJSON(t.Out, raw)
	case l.Why != "":
		return errors.New(whyNoLog(&l, arn))
	}
	return p.print(l)
}

// whyNoLog returns why there is no log, and where else it is.
func whyNoLog(l *client.SessionLog, arn string) string {
	if !l.Ended {
		return l.Why
	}
	return l.Why + " The log of a game server of a managed fleet is kept for 14 days: aws gamelift get-game-session-log-url --game-session-id " + arn
}

// errLogOver ends the following of a log.
var errLogOver = errors.New("the game session has ended")

// logPrinter prints what is new in a log.
type logPrinter struct {
	t    *Terminal
	last client.SessionLog
	of   string // name of the stream that was printed last
}

func (p *logPrinter) print(l client.SessionLog) error {
	if p.t.JSON {
		if err := WriteJSON(p.t.Out, l); err != nil {
			return err
		}
	}
	for _, now := range l.Streams {
		var before client.LogStream
		for _, s := range p.last.Streams {
			if s.Name == now.Name && l.Process == p.last.Process {
				before = s
			}
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
	if l.Ended && l.Process == "" {
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
	case now.End > 0 && now.End >= before.End:
		return now.Text[len(now.Text)-int(min(now.End-before.End, int64(len(now.Text)))):]
	case now.End > 0: // another file was begun
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
