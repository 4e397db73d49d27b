package pages

import (
	"context"
	"strings"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/session"
)

// Tail is the end of what a running process has written, and what it used lately.
type Tail struct {
	Streams []Stream
	Used    []Used
}

// Stream is the end of one of a process's outputs.
type Stream struct {
	Name string `json:"name"` // output, or errors if these are separate
	Text string `json:"text"`
	End  int64  `json:"end,omitempty"` // how many bytes were written to the current file; 0: not known
}

// Used is what a process used at a time.
type Used struct {
	At        time.Time `json:"at"`
	CPUMillis int       `json:"cpu_millis"` // thousandths of a processor
	MemoryMiB int       `json:"memory_mib"`
}

// SessionLog is the end of the log of the process that hosts a game session, or hosted it.
type SessionLog struct {
	Why     string   `json:"why,omitempty"` // why there is none now
	Ended   bool     `json:"ended,omitempty"`
	Stored  bool     `json:"stored,omitempty"`  // the process has ended; this is what was stored of its log
	Process string   `json:"process,omitempty"` // the id of the process
	Streams []Stream `json:"streams"`
}

// SessionLoad is what the process that hosts a game session used in the last minutes.
type SessionLoad struct {
	Why  string `json:"why,omitempty"` // why nothing is known
	Used []Used `json:"used"`          // oldest first
}

// logMost is how many bytes of each stream a page gets.
const logMost = 32 << 10

const (
	noProcess = "The game session has ended, and its process with it, or hosts something else by now."
	noLog     = "No log of it is stored: that happens when the process ends, if an agent of Muster started it, and lasts 14 days."
	noAgent   = "This game server runs on a compute of an Anywhere fleet that no agent of Muster started: its log and its use of the machine are only on that machine."
)

// SessionLog returns the end of the log of a game session's process. Errors: NotFound,
// Throttling.
func (p *Pages) SessionLog(ctx context.Context, caller auth.Caller, id string) (*SessionLog, error) {
	g, c, err := p.processOf(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	out := &SessionLog{Streams: []Stream{}}
	if c == nil {
		return out, p.storedLog(ctx, g, out)
	}
	out.Process = c.ID
	tail, why, err := p.tailOf(ctx, c, logMost)
	out.Why, out.Ended = why, !g.Ended.IsZero()
	if tail != nil {
		out.Streams = append(out.Streams, tail.Streams...)
	}
	return out, err
}

// storedLog sets the log of a game session whose process has ended.
func (p *Pages) storedLog(ctx context.Context, g *session.GameSession, out *SessionLog) error {
	out.Ended = true
	tail, err := p.Stored(ctx, g, logMost)
	switch f, ok := fault.As(err); {
	case ok && f.Kind == fault.InvalidRequest:
		out.Why = sentence(f.Message)
	case err != nil:
		return err
	case tail == nil:
		out.Why = noProcess + " " + noLog
	default:
		out.Stored, out.Process = true, compute.ParseRef(g.ProcessKey).ProcessID
		out.Streams = append(out.Streams, tail.Streams...)
	}
	return nil
}

// SessionLoad returns what a game session's process used in the last minutes. Errors:
// NotFound, Throttling.
func (p *Pages) SessionLoad(ctx context.Context, caller auth.Caller, id string) (*SessionLoad, error) {
	_, c, err := p.processOf(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	out := &SessionLoad{Used: []Used{}}
	if c == nil {
		out.Why = noProcess
		return out, nil
	}
	tail, why, err := p.tailOf(ctx, c, 0)
	out.Why = why
	if tail != nil {
		out.Used = append(out.Used, tail.Used...)
	}
	return out, err
}

// processOf returns a game session, and the process that hosts it now, nil if there is none.
// Errors: NotFound.
func (p *Pages) processOf(ctx context.Context, caller auth.Caller, id string) (*session.GameSession, *compute.Process, error) {
	g, err := p.Sessions.Get(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	if g == nil || !caller.ReachesBeside(p.Home.Of("location", g.Location)) {
		return nil, nil, fault.Missing("GameSessionId: game session %.256q does not exist", id)
	}
	c := p.Computes.Process(p.Store.View(), g.ProcessKey)
	if c == nil || c.GameSessionID != g.ID || c.Status == compute.Terminated {
		return g, nil, nil
	}
	return g, c, nil
}

// tailOf returns the end of what a process has written, or a sentence that says why it is not
// known. Errors: Throttling.
func (p *Pages) tailOf(ctx context.Context, c *compute.Process, most int) (*Tail, string, error) {
	tail, err := p.Tail(ctx, c, most)
	if f, ok := fault.As(err); ok && f.Kind == fault.InvalidRequest {
		return nil, sentence(f.Message), nil
	}
	if err != nil {
		return nil, "", err
	}
	if tail == nil {
		return nil, noAgent, nil
	}
	return tail, "", nil
}

// sentence returns a text with a capital and a period.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
