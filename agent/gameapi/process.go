package gameapi

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/disk"
	"github.com/musterhq/muster/agent/gamelink"
)

// Muster is the connection of a process to Muster; a *gamelink.Link.
type Muster interface {
	Ask(ctx context.Context, action string, members map[string]any, to any) error
	Connected() bool
}

// heartbeat is how often Muster is told of the health of a process, as AWS's SDKs do.
const heartbeat = time.Minute

// Tool is the name by which Muster knows a process that uses the interface.
const Tool = "MusterHTTP"

// Admission is a process that may use the interface.
type Admission struct {
	FleetID, HostID, ProcessID string
	Token                      string // that the process presents here
	Port                       int    // of ready without one
	State                      string // file that keeps what the next agent must know; "": nothing is kept
	// Endpoint returns where the process is connected to Muster (gamelink.Options).
	Endpoint func() (url, token string, err error)
}

// kept is what the next agent must know of a process.
type kept struct {
	ProcessID string
	Version   uint64
	Ready     *ReadyRequest `json:",omitempty"` // as the program called it; nil: it has not
	Announced bool          `json:",omitempty"` // Muster knows that it is ready
	Session   *Session      `json:",omitempty"`
	Activated bool          `json:",omitempty"`
	Backfill  *Backfill     `json:",omitempty"`
	EndBy     *time.Time    `json:",omitempty"`
	Ended     bool          `json:",omitempty"`
	// Taken are the player sessions that were accepted, and have not been removed. Nobody else
	// accepts players of the game session: an ACTIVE one that is not here was accepted by a
	// request whose answer was lost, or let in by Muster before a wrapped program called ready.
	Taken map[string]bool `json:",omitempty"`
}

// Process is a process that may use the interface.
type Process struct {
	a       Admission
	digest  [32]byte // of the token
	tls     *tls.Config
	log     *slog.Logger
	life    context.Context
	end     context.CancelFunc
	busy    chan struct{}   // holds a value for each request under way
	wraps   *Wrapping       // nil for a process that an agent started
	leaving <-chan struct{} // closed when requests that wait for news are to be answered
	work    sync.WaitGroup

	mu       sync.Mutex // guards what follows
	kept     kept
	link     Muster          // nil before ready
	changed  chan struct{}   // closed and replaced when the version grows
	lively   time.Time       // when the program last called health, or ready
	ill      bool            // the program said that it is unhealthy
	keeping  bool            // keepHealth runs
	arriving map[string]bool // player sessions that are being accepted
	over     bool            // nothing is begun any more
}

// Wrapping is what package wrap does for a program that it has started for a game session.
type Wrapping struct {
	Muster  Muster // the wrapper's own connection; it sends the heartbeats too
	Managed func() // called when the program calls ready
}

func newProcess(a Admission, wraps *Wrapping, leaving <-chan struct{}, tls *tls.Config, log *slog.Logger) *Process {
	p := &Process{
		a: a, wraps: wraps, leaving: leaving, digest: digestOf(a.Token), tls: tls, log: log.With("process_id", a.ProcessID), busy: make(chan struct{}, maxRequests),
		kept: kept{ProcessID: a.ProcessID, Version: 1}, changed: make(chan struct{}), arriving: map[string]bool{},
	}
	p.life, p.end = context.WithCancel(context.Background())
	if wraps != nil {
		p.link = wraps.Muster
	}
	p.ill = wasIll(a)
	var before kept
	if a.State != "" && disk.Read(a.State, &before) == nil && before.ProcessID == a.ProcessID {
		p.kept = before
		p.resume()
	}
	return p
}

// resume continues what a former agent did for the process.
func (p *Process) resume() {
	p.mu.Lock()
	k := p.kept
	if k.Ready != nil {
		p.open()
	}
	p.mu.Unlock()
	switch {
	case k.Ready == nil:
		return
	case !k.Announced:
		p.spawn(func() {
			if err := p.announce(p.life); err != nil && p.life.Err() == nil {
				p.log.Error("a process that called ready is refused by Muster", "error", err)
			}
		})
		return
	}
	p.spawn(p.beat)
	if k.Ended {
		p.spawn(func() { _ = p.goodbye(p.life) })
	}
}

// spawn runs f on its own goroutine, unless the process is over. f must end with life.
func (p *Process) spawn(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.work.Go(f)
	}
}

// open connects the process to Muster. The caller must hold mu.
func (p *Process) open() {
	p.lively = time.Now()
	if p.link != nil {
		return
	}
	p.link = gamelink.Open(p.life, gamelink.Options{
		FleetID: p.a.FleetID, HostID: p.a.HostID, ProcessID: p.a.ProcessID, Endpoint: p.a.Endpoint, TLS: p.tls, Push: p.Push, Log: p.log,
	})
}

// muster returns the connection, or nil before ready.
func (p *Process) muster() Muster {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.link
}

// Push handles a message from Muster.
func (p *Process) Push(action string, frame []byte) {
	switch action {
	case "CreateGameSession":
		p.created(frame)
	case "UpdateGameSession":
		p.updated(frame)
	case "TerminateProcess":
		var m struct{ TerminationTime int64 }
		if json.Unmarshal(frame, &m) == nil {
			at := time.UnixMilli(m.TerminationTime).UTC()
			if year := at.Year(); year < 1970 || year > 9999 { // JSON has no such times
				at = time.Now().UTC()
			}
			p.change(func(k *kept) { k.EndBy = &at })
		}
	}
}

// created is CreateGameSession.
func (p *Process) created(frame []byte) {
	var m struct {
		GameSessionID             string `json:"GameSessionId"`
		GameSessionName           string
		GameSessionData           string
		MatchmakerData            string
		MaximumPlayerSessionCount int
		IPAddress                 string `json:"IpAddress"`
		DNSName                   string `json:"DnsName"`
		Port                      int
		GameProperties            map[string]string
	}
	if err := json.Unmarshal(frame, &m); err != nil {
		p.log.Error("a game session cannot be read", "error", err)
		return
	}
	p.change(func(k *kept) {
		if k.Session != nil {
			return // a process has one game session
		}
		k.Session = &Session{
			SessionID: m.GameSessionID, Name: m.GameSessionName, Data: m.GameSessionData, Properties: orEmpty(m.GameProperties), MaxPlayers: m.MaximumPlayerSessionCount,
			IPAddress: m.IPAddress, DNSName: m.DNSName, Port: m.Port, Match: matchOf(m.MatchmakerData),
		}
	})
}

// updated is UpdateGameSession: a backfill has ended.
func (p *Process) updated(frame []byte) {
	var m struct {
		GameSession struct {
			GameSessionID             string `json:"GameSessionId"`
			Name                      string
			GameSessionData           string
			MatchmakerData            string
			MaximumPlayerSessionCount int
			GameProperties            map[string]string
		}
		UpdateReason     string
		BackfillTicketID string `json:"BackfillTicketId"`
	}
	if err := json.Unmarshal(frame, &m); err != nil {
		p.log.Error("an update of the game session cannot be read", "error", err)
		return
	}
	became := map[string]string{
		"MATCHMAKING_DATA_UPDATED": Completed, "BACKFILL_FAILED": Failed, "BACKFILL_TIMED_OUT": TimedOut, "BACKFILL_CANCELLED": Canceled,
	}[m.UpdateReason]
	p.change(func(k *kept) {
		if k.Session == nil || k.Session.SessionID != m.GameSession.GameSessionID {
			return
		}
		s, u := *k.Session, m.GameSession
		s.Name, s.Data, s.Properties, s.MaxPlayers, s.Match = u.Name, u.GameSessionData, orEmpty(u.GameProperties), u.MaximumPlayerSessionCount, matchOf(u.MatchmakerData)
		k.Session = &s
		if became != "" && m.BackfillTicketID != "" {
			k.Backfill = &Backfill{m.BackfillTicketID, became}
		}
	})
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// matchOf returns matchmaker data as JSON, or nil if there is none.
func matchOf(text string) json.RawMessage {
	if !json.Valid([]byte(text)) {
		return nil
	}
	return json.RawMessage(text)
}

// change changes the state, keeps it, and wakes those who wait for it. do must not modify
// what a pointer of the state points to.
func (p *Process) change(do func(*kept)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do(&p.kept)
	p.kept.Version++
	p.keep()
	close(p.changed)
	p.changed = make(chan struct{})
}

// keep stores the state. p.mu must be held.
func (p *Process) keep() {
	if p.a.State == "" {
		return
	}
	if err := disk.Write(p.a.State, p.kept); err != nil {
		p.log.Error("the state of a process is not kept for the next agent", "error", err)
	}
}

// take records whether a player session is accepted. p.mu must be held.
func (p *Process) take(id string, accepted bool) {
	if p.kept.Taken[id] == accepted {
		return
	}
	if p.kept.Taken == nil {
		p.kept.Taken = map[string]bool{}
	}
	if accepted {
		p.kept.Taken[id] = true
	} else {
		delete(p.kept.Taken, id)
	}
	p.keep()
}

// Look returns the status, and a channel that is closed when it changes.
func (p *Process) Look() (Status, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.kept
	return Status{
		Version: k.Version, State: k.state(), Connected: p.link != nil && p.link.Connected(), EndBy: k.EndBy, Session: k.Session, Backfill: k.Backfill,
	}, p.changed
}

func (k *kept) state() string {
	switch {
	case k.Ended:
		return Ended
	case k.EndBy != nil:
		return Ending
	case k.Session == nil && k.Announced:
		return Ready
	case k.Session == nil:
		return Starting
	case k.Activated:
		return Active
	}
	return Activating
}

// announce sends ProcessReady until Muster has answered, or ctx ends.
func (p *Process) announce(ctx context.Context) error {
	p.mu.Lock()
	r := *p.kept.Ready
	p.mu.Unlock()
	logs := r.LogPaths
	if logs == nil {
		logs = []string{}
	}
	port := p.a.Port
	if r.Port != nil {
		port = *r.Port
	}
	for wait := time.Second; ; wait = min(2*wait, 5*time.Second) {
		err := p.muster().Ask(ctx, "ActivateServerProcess", map[string]any{
			"SdkVersion": gamelink.SDKVersion, "SdkLanguage": "Muster", "SdkToolName": Tool, "SdkToolVersion": "1", "Port": port, "LogPaths": logs,
		}, nil)
		var refused *gamelink.Refusal
		if errors.As(err, &refused) && (refused.Status == http.StatusTooManyRequests || refused.Status >= 500) {
			select {
			case <-time.After(wait):
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err != nil {
			return err
		}
		break
	}
	p.change(func(k *kept) { k.Announced = true })
	if p.wraps == nil {
		p.spawn(p.beat)
	}
	return nil
}

// SetActivated records that the game session was activated on behalf of the program.
func (p *Process) SetActivated() { p.change(func(k *kept) { k.Activated = true }) }

// HadEnded reports whether a process called end at a former agent; state is the file of its
// Admission.
func HadEnded(state, processID string) bool {
	var k kept
	return disk.Read(state, &k) == nil && k.ProcessID == processID && k.Ended
}

// Healthy reports whether the process counts as healthy: it does until it says otherwise,
// or is silent for longer than it has promised.
func (p *Process) Healthy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.ill && p.kept.timely(p.lively, time.Now())
}

// beat tells Muster of the process's health until its end.
func (p *Process) beat() {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		p.mu.Lock()
		over := p.kept.Ended
		p.mu.Unlock()
		if over {
			return
		}
		healthy := p.Healthy()
		ctx, cancel := context.WithTimeout(p.life, heartbeat)
		if err := p.muster().Ask(ctx, "HeartbeatServerProcess", map[string]any{"HealthStatus": healthy}, nil); err != nil && p.life.Err() == nil {
			p.log.Warn("a heartbeat is lost", "error", err)
		}
		cancel()
		select {
		case <-tick.C:
		case <-p.life.Done():
			return
		}
	}
}

// timely reports whether the program calls health as often as it has promised, if it was last
// known to be lively at a time.
func (k *kept) timely(lively, now time.Time) bool {
	if k.Ready == nil {
		return true
	}
	timeout := time.Duration(k.Ready.HealthTimeout) * time.Second
	return timeout == 0 || now.Sub(lively) <= timeout
}

// goodbye sends ProcessEnding.
func (p *Process) goodbye(ctx context.Context) error {
	err := p.muster().Ask(ctx, "TerminateServerProcess", nil, nil)
	if err != nil && p.life.Err() == nil {
		p.log.Warn("Muster has not heard of the end of a process yet", "error", err)
	}
	return err
}

// lastWords is how long the end of a process that exited without calling end is reported
// on its behalf.
const lastWords = 3 * time.Second

// finish ends everything about a process that has exited, and reports whether that counts as
// ProcessEnding: it called end, or it was ready and ended without an error.
func (p *Process) finish(clean bool) (left bool) {
	p.mu.Lock()
	k := p.kept
	p.mu.Unlock()
	if clean && k.Announced && !k.Ended {
		ctx, cancel := context.WithTimeout(p.life, lastWords)
		_ = p.goodbye(ctx)
		cancel()
	}
	p.close()
	return k.Ended || clean && k.Announced
}

// close ends the connection, and waits until nothing is done for the process any more.
func (p *Process) close() {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	p.end()
	p.work.Wait()
}
