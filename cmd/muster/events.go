package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/style"
	"github.com/musterhq/muster/cli/terminal"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/event/archive"
)

type eventsCommand struct {
	lookFlags
	Follow   bool     `short:"f" help:"Go on with new events until stopped; reconnects by itself."`
	After    uint64   `placeholder:"SEQ" help:"Only events behind this sequence number."`
	Last     int      `default:"20" help:"How many old events to begin with, of those that the other flags select (${default}; with --since or --archive all)."`
	Since    string   `placeholder:"TIME" help:"Only events since a time (2026-01-31T00:00:00Z), or of the last so long (24h, 7d)."`
	Until    string   `placeholder:"TIME" help:"Only events before a time, given as for --since."`
	Fleet    string   `placeholder:"FLEET" help:"Only what concerns this fleet: name, id, or a part of the id; with --archive its id or ARN."`
	Session  string   `placeholder:"SESSION" help:"Only what concerns this game session: ARN, id, name, or a part of the id; with --archive, and once its record is removed, its ARN."`
	Resource string   `placeholder:"ID" help:"Only events that have this id, name or ARN in any member."`
	Code     []string `placeholder:"CODE" help:"Only events of these codes, such as HOST_LOST (docs/events.md)."`
	Archive  string   `placeholder:"LOCATION" help:"Read an archive of events, a folder or s3://BUCKET/PREFIX, as the server's --events-archive names it, instead of asking a server; of several regions, --region chooses one."`
}

// Help is called by kong.
func (c *eventsCommand) Help() string {
	return "On a terminal an event that is too long for a line is wrapped. In a pipe or a file each event is one line, of any length; 'cut -c 1-120' cuts them."
}

// query returns what the flags select, at a time.
func (c *eventsCommand) query(now time.Time) (q client.EventQuery, err error) {
	q = client.EventQuery{After: c.After, Last: c.Last, Follow: c.Follow, FleetID: c.Fleet, GameSessionID: c.Session, Resource: c.Resource}
	if q.Since, err = before("since", c.Since, now); err != nil {
		return q, err
	}
	if q.Until, err = before("until", c.Until, now); err != nil {
		return q, err
	}
	for _, code := range c.Code {
		if code = strings.ToUpper(code); !codeForm.MatchString(code) {
			return q, fmt.Errorf("code: %q is no code of events; docs/events.md has them all", code)
		}
		q.Codes = append(q.Codes, code)
	}
	switch {
	case c.Last < 0:
		return q, fmt.Errorf("last: %d is less than 0", c.Last)
	case c.Follow && c.Until != "":
		return q, errors.New("until: --follow has no end; leave out one of the two")
	case !q.Until.IsZero() && !q.Since.Before(q.Until):
		return q, errors.New("until: no event is before that and since --since")
	case !c.typed["last"] && (c.Archive != "" || c.Since != ""):
		q.Last = 0
	}
	return q, nil
}

var codeForm = regexp.MustCompile(`^[A-Z][A-Z0-9_]+$`)

// before returns the time that a flag names, or the time that long before now.
func before(flag, text string, now time.Time) (time.Time, error) {
	at, err := when(flag, text, now)
	switch {
	case err != nil:
		return at, fmt.Errorf("%s: %q is neither how long ago it was, such as 24h or 7d, nor a time such as 2026-01-31T00:00:00Z", flag, text)
	case text == "" || strings.Contains(text, ":"): // a time
		return at, nil
	}
	return now.Add(-at.Sub(now)), nil
}

// Run shows the event log, or an archive of it.
func (c *eventsCommand) Run(t *streams) error {
	q, err := c.query(time.Now())
	if err != nil {
		return err
	}
	if c.Archive != "" {
		return c.read(t, q)
	}
	view, err := c.ProvideTerminal(t)
	if err != nil {
		return err
	}
	if c.Fleet != "" {
		if q.FleetID, err = view.Client.FindFleetID(t.ctx, c.Fleet); err != nil {
			return err
		}
	}
	if c.Session != "" {
		if q.GameSessionID, err = view.Client.Sessions().GameSessionID(t.ctx, c.Session); err != nil {
			return err
		}
	}
	if c.Follow && q.GameSessionID != "" && missing(t, view, q.GameSessionID) {
		fmt.Fprintf(t.err, "muster: session: %s does not exist; what the log has of it follows, and what may come\n", q.GameSessionID)
	}
	view.Dates = !q.Since.IsZero()
	q.Reconnected = func(err error) { fmt.Fprintln(t.err, "muster: connection lost, trying again:", err) }
	some, err := view.Events(t.ctx, q)
	if err != nil || some || c.Follow || c.typed["last"] && c.Last == 0 || t.ctx.Err() != nil {
		return err
	}
	if q.GameSessionID != "" && missing(t, view, q.GameSessionID) {
		return fmt.Errorf("session: %s does not exist, and the log has no events of it", q.GameSessionID)
	}
	if of := c.selected(q); of != "" {
		fmt.Fprintln(t.err, "muster: no events"+of+" in the log")
	}
	return nil
}

// missing reports whether the server has no game session with an id. An ARN was not looked up before:
// events are kept for longer than its record.
func missing(t *streams, view *terminal.Terminal, id string) bool {
	err := view.Client.Call(t.ctx, "DescribeGameSessions", map[string]any{"GameSessionId": id}, nil)
	refused, ok := errors.AsType[*client.Error](err)
	return ok && refused.Code == "NotFoundException"
}

// selected says which events the flags select; "" means all.
func (c *eventsCommand) selected(q client.EventQuery) string {
	var text strings.Builder
	for _, p := range []struct{ before, value string }{
		{" of ", q.FleetID}, {" of ", q.GameSessionID}, {" of ", q.Resource}, {" with code ", strings.Join(q.Codes, " or ")},
		{" since ", c.Since}, {" until ", c.Until},
	} {
		if p.value != "" {
			text.WriteString(p.before + p.value)
		}
	}
	if c.After > 0 {
		fmt.Fprintf(&text, " behind %d", c.After)
	}
	return text.String()
}

// read shows an archive.
func (c *eventsCommand) read(t *streams, q client.EventQuery) error {
	if c.Follow {
		return errors.New("follow: an archive has the past only; leave out --follow or --archive")
	}
	fleet := c.Fleet[strings.LastIndex(c.Fleet, "/")+1:]
	if fleet != "" && !strings.HasPrefix(fleet, "fleet-") && !strings.HasPrefix(fleet, "containerfleet-") {
		return fmt.Errorf("fleet: %q is no id or ARN of a fleet, which an archive needs: it has no names", c.Fleet)
	}
	if c.Session != "" && !strings.HasPrefix(c.Session, "arn:") {
		return fmt.Errorf("session: %q is no ARN of a game session, which an archive needs: it has no names", c.Session)
	}
	from, err := archive.OpenSource(t.ctx, c.Archive)
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	s := archive.Selection{
		Region: c.Region, After: q.After, Last: uint64(q.Last), From: q.Since, To: q.Until,
		Filter: event.Filter{FleetID: fleet, GameSessionID: c.Session, Resource: c.Resource},
	}
	for _, code := range q.Codes {
		s.Codes = append(s.Codes, event.Code(code))
	}
	if c.typed["last"] && c.Last == 0 {
		return nil
	}
	out := bufio.NewWriterSize(t.out, 64<<10)
	view := &terminal.Terminal{Out: out, JSON: c.json(), Dates: true, Width: style.Width(t.screen, 0)}
	err = archive.Read(t.ctx, flushed{from, out}, s, func(line []byte, e *event.Line) error {
		if view.JSON {
			return terminal.WriteJSON(out, json.RawMessage(line))
		}
		return view.Event(shown(e))
	})
	if t.ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil
	}
	return cmp.Or(err, out.Flush())
}

// flushed is a Source that shows what was found before it opens the next object.
type flushed struct {
	archive.Source
	out *bufio.Writer
}

// Get implements archive.Source.
func (f flushed) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := f.out.Flush(); err != nil {
		return nil, err
	}
	return f.Source.Get(ctx, name)
}

// shown returns an event of an archive as the terminal shows it.
func shown(e *event.Line) client.Event {
	return client.Event{
		Seq: e.Seq, ID: e.ID, Time: e.Time, Code: string(e.Code), FleetID: e.FleetID, Location: e.Location, ComputeName: e.ComputeName, ProcessID: e.ProcessID,
		GameSessionID: e.GameSessionID, PlayerSessionID: e.PlayerSessionID, Resource: e.Resource, Message: e.Message, Principal: e.Principal,
	}
}
