package legacy

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/disk"
	"github.com/musterhq/muster/agent/gamelink"
	"github.com/musterhq/muster/agent/legacy/wire"
	"github.com/musterhq/muster/internal/wake"
)

// Limits of one process.
const (
	maxConns   = 8   // connections; SDKs open one or two
	maxCalls   = 256 // unanswered requests
	maxPushes  = 32  // that wait for a connection
	returning  = 40 * time.Second
	accepting  = 10 * time.Second // until StartGameSession counts as lost
	again      = time.Second      // until a process that was not ready is asked again
	maxRefused = 10               // times that a process is asked
)

// kept is what the next agent must know of a process.
type kept struct {
	ProcessID string
	Version   string // of its SDK
	Language  string
	WebSocket bool              `json:",omitempty"` // pushes go to port 5759
	Ready     bool              `json:",omitempty"` // it has called ProcessReady, and not ended its game session since
	Port      int               `json:",omitempty"`
	LogPaths  []string          `json:",omitempty"`
	Session   *wire.GameSession `json:",omitempty"`
	Unsent    bool              `json:",omitempty"` // it has not been told of Session yet
	Ticket    string            `json:",omitempty"` // the latest backfill that is not known to have ended
	Ended     bool              `json:",omitempty"` // it has called ProcessEnding
}

// process is a process that may connect.
type process struct {
	a    Admission
	tls  *tls.Config
	log  *slog.Logger
	life context.Context
	end  context.CancelFunc

	readying sync.Mutex     // held while ProcessReady is handled
	work     sync.WaitGroup // goroutines that end with life
	calls    sync.WaitGroup // requests that are not answered yet
	queued   wake.Nudge     // there may be a push
	beat     wake.Nudge     // there is a report of health

	mu      sync.Mutex // guards what follows
	kept    kept
	claimed int            // the process id that it claims, on systems that do not say who it is
	link    *gamelink.Link // nil while it is not connected to Muster
	unlink  context.CancelFunc
	conns   []*conn       // oldest first
	arrived chan struct{} // closed and replaced when conns grows
	pushes  []wire.Push   // oldest first
	away    *time.Timer   // runs while there are no conns
	healthy bool          // its last report
	open    int           // unanswered requests
	begun   bool
	over    bool          // nothing is begun any more
	leaving chan struct{} // closed when Muster knows of ProcessEnding; nil before that call
}

func newProcess(a Admission, tls *tls.Config, log *slog.Logger) *process {
	p := &process{
		a: a, tls: tls, log: log.With("process_id", a.ProcessID), kept: kept{ProcessID: a.ProcessID},
		arrived: make(chan struct{}), queued: wake.NewNudge(), beat: wake.NewNudge(),
	}
	p.life, p.end = context.WithCancel(context.Background())
	var before kept
	if a.State == "" || disk.Read(a.State, &before) != nil || before.ProcessID != a.ProcessID || before.Version == "" {
		return p
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = before
	p.begin()
	if before.Unsent && before.Session != nil {
		p.push(wire.ActivateGameSession{GameSession: *before.Session})
	}
	if before.Ended {
		p.leave()
	}
	p.away = time.AfterFunc(returning, p.gone)
	return p
}

// HadEnded reports whether a process called ProcessEnding at a former agent; state is the file
// of its Admission.
func HadEnded(state, processID string) bool {
	var k kept
	return disk.Read(state, &k) == nil && k.ProcessID == processID && k.Ended
}

// known reports whether the process has ever connected.
func (p *process) known() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept.Version != ""
}

func (p *process) claims(pid int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return pid > 0 && p.claimed == pid
}

func (p *process) claim(pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claimed = pid
}

func (p *process) hasLeft() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept.Ended
}

// state returns what is known of the process now.
func (p *process) state() kept {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept
}

// change changes what is kept. The caller must hold mu.
func (p *process) change(f func(*kept)) {
	f(&p.kept)
	if p.a.State == "" {
		return
	}
	if err := disk.Write(p.a.State, p.kept); err != nil {
		p.log.Error("the state of a game server is not kept; a new agent would not know it", "error", err)
	}
}

// begin connects the process to Muster, unless it is. The caller must hold mu.
func (p *process) begin() {
	if p.over {
		return
	}
	if p.link == nil {
		var ctx context.Context
		ctx, p.unlink = context.WithCancel(p.life)
		p.link = gamelink.Open(ctx, gamelink.Options{
			FleetID: p.a.FleetID, HostID: p.a.HostID, ProcessID: p.a.ProcessID, Version: p.kept.Version, Language: p.kept.Language,
			Endpoint: p.a.Endpoint, TLS: p.tls, Push: p.pushed, Log: p.log,
		})
	}
	if !p.begun {
		p.begun = true
		p.work.Go(p.deliver)
		p.work.Go(p.report)
	}
}

// attach adds a connection of the process.
func (p *process) attach(c *conn, version, language string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return false
	}
	if p.kept.Version != version || p.kept.Language != language || p.kept.WebSocket != c.plain {
		p.change(func(k *kept) { k.Version, k.Language, k.WebSocket = version, language, c.plain })
	}
	for n, old := range slices.Clone(p.conns) {
		if c.plain || len(p.conns)-n >= maxConns {
			old.drop()
		}
	}
	p.conns = append(p.conns, c)
	if p.away != nil {
		p.away.Stop()
	}
	close(p.arrived)
	p.arrived = make(chan struct{})
	p.begin()
	return true
}

// detach removes a connection that has closed.
func (p *process) detach(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = slices.DeleteFunc(p.conns, func(other *conn) bool { return other == c })
	if len(p.conns) == 0 && !p.over {
		p.away = time.AfterFunc(returning, p.gone)
	}
}

// gone handles that the process has been without a connection for longer than its SDK
// needs to come back. C# 4.0 never does, but still calls by HTTP: its process is of use
// until its game session has ended.
func (p *process) gone() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.over || len(p.conns) > 0:
	case p.kept.WebSocket && p.kept.Session == nil:
		p.log.Warn("a game server cannot be told anything any more, and is replaced")
		p.leave()
	case !p.kept.WebSocket && p.unlink != nil:
		p.log.Warn("a game server has not come back")
		p.unlink()
		p.link, p.unlink = nil, nil
	}
}

// pushed handles a message from Muster.
func (p *process) pushed(action string, frame []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch action {
	case "CreateGameSession":
		var m sessionPush
		if err := json.Unmarshal(frame, &m); err != nil {
			p.log.Error("a game session cannot be read", "error", err)
			return
		}
		if p.kept.Session != nil && p.kept.Session.GameSessionID == m.GameSessionID {
			return
		}
		g := m.session(p.a.FleetID)
		p.change(func(k *kept) { k.Session, k.Unsent, k.Ticket = &g, true, "" })
		p.push(wire.ActivateGameSession{GameSession: g})
	case "UpdateGameSession":
		p.updated(frame)
	case "TerminateProcess":
		var m struct{ TerminationTime int64 }
		if json.Unmarshal(frame, &m) == nil && p.kept.Ready { // C++ crashes before ProcessReady
			p.push(wire.TerminateProcess{TerminationTime: m.TerminationTime})
		}
	}
}

// updated handles that a backfill has ended. The caller must hold mu.
func (p *process) updated(frame []byte) {
	var m struct {
		GameSession      sessionPush
		UpdateReason     string
		BackfillTicketID string `json:"BackfillTicketId"`
	}
	if err := json.Unmarshal(frame, &m); err != nil {
		p.log.Error("an update cannot be read", "error", err)
		return
	}
	g := m.GameSession.session(p.a.FleetID)
	if p.kept.Session == nil || p.kept.Session.GameSessionID != g.GameSessionID {
		return
	}
	p.change(func(k *kept) {
		k.Session = &g
		if k.Ticket == m.BackfillTicketID {
			k.Ticket = ""
		}
	})
	if !older(p.kept.Version, 3, 2) {
		p.push(wire.UpdateGameSession{GameSession: g, Reason: m.UpdateReason, BackfillTicketID: m.BackfillTicketID})
	}
}

// sessionPush is a game session in a message from Muster.
type sessionPush struct {
	GameSessionID   string `json:"GameSessionId"`
	GameSessionName string // in a push of its own
	Name            string // in an update
	MaxPlayers      int    `json:"MaximumPlayerSessionCount"`
	IPAddress       string `json:"IpAddress"`
	DNSName         string `json:"DnsName"`
	Port            int
	GameSessionData string
	MatchmakerData  string
	GameProperties  map[string]string
}

func (m sessionPush) session(fleetID string) wire.GameSession {
	g := wire.GameSession{
		GameSessionID: m.GameSessionID, FleetID: fleetID, Name: m.GameSessionName + m.Name, MaxPlayers: m.MaxPlayers, Properties: []wire.Property{},
		IPAddress: m.IPAddress, Port: m.Port, Data: m.GameSessionData, MatchmakerData: m.MatchmakerData, DNSName: m.DNSName,
	}
	for _, key := range slices.Sorted(maps.Keys(m.GameProperties)) {
		g.Properties = append(g.Properties, wire.Property{Key: key, Value: m.GameProperties[key]})
	}
	return g
}

// push queues a push. The caller must hold mu.
func (p *process) push(push wire.Push) {
	if len(p.pushes) >= maxPushes {
		p.log.Warn("a push to a game server is dropped: too many wait")
		return
	}
	p.pushes = append(p.pushes, push)
	p.queued.Send()
}

// deliver sends the pushes, one after the other.
func (p *process) deliver() {
	for {
		p.mu.Lock()
		var next wire.Push
		if len(p.pushes) > 0 {
			next, p.pushes = p.pushes[0], p.pushes[1:]
		}
		p.mu.Unlock()
		if next != nil {
			p.send(next)
			continue
		}
		select {
		case <-p.queued:
		case <-p.life.Done():
			return
		}
	}
}

// send sends a push on the next connection. A StartGameSession that may have arrived is
// never repeated: the game would begin twice.
func (p *process) send(push wire.Push) {
	for range maxRefused {
		c := p.forPush()
		if c == nil {
			return
		}
		if _, start := push.(wire.ActivateGameSession); start {
			p.mu.Lock()
			p.change(func(k *kept) { k.Unsent = false })
			p.mu.Unlock()
		}
		err := c.push(p.life, push)
		if err == nil || p.life.Err() != nil {
			return
		}
		p.log.Warn("a game server did not take a push", "error", err)
		if !errors.Is(err, errNotReady) || !wake.Sleep(p.life, again) {
			return
		}
	}
}

// forPush returns the connection for pushes, once there is one: one that has carried no
// request, or else the newest. It returns nil when the process is over.
func (p *process) forPush() *conn {
	for {
		p.mu.Lock()
		all, arrived := slices.Clone(p.conns), p.arrived
		p.mu.Unlock()
		if len(all) > 0 {
			if n := slices.IndexFunc(all, func(c *conn) bool { return !c.asked.Load() }); n >= 0 && len(all) > 1 {
				return all[n]
			}
			return all[len(all)-1]
		}
		select {
		case <-arrived:
		case <-p.life.Done():
			return nil
		}
	}
}

// report passes reports of health on to Muster.
func (p *process) report() {
	for {
		select {
		case <-p.beat:
		case <-p.life.Done():
			return
		}
		p.mu.Lock()
		healthy, ended := p.healthy, p.kept.Ended
		p.mu.Unlock()
		if ended {
			continue // C# 3 goes on reporting
		}
		ctx, cancel := context.WithTimeout(p.life, answering)
		if err := p.ask(ctx, "HeartbeatServerProcess", map[string]any{"HealthStatus": healthy}, nil); err != nil {
			p.log.Debug("a report of health is lost", "error", err)
		}
		cancel()
	}
}

// leave has Muster told that the process ends. The caller must hold mu.
func (p *process) leave() {
	if p.leaving != nil || p.over {
		return
	}
	p.begin()
	done := make(chan struct{})
	p.leaving = done
	p.change(func(k *kept) { k.Ended = true })
	p.work.Go(func() {
		if err := p.ask(p.life, "TerminateServerProcess", nil, nil); err != nil {
			p.log.Warn("the end of a game server is reported only when it has exited", "error", err)
			return
		}
		close(done)
	})
}

// stop ends the work for the process, and drops its connections once its open requests are
// answered or ctx ends.
func (p *process) stop(ctx context.Context) {
	p.mu.Lock()
	p.over = true
	if p.away != nil {
		p.away.Stop()
	}
	p.mu.Unlock()
	p.end()
	answered := make(chan struct{})
	go func() {
		p.calls.Wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-ctx.Done():
	}
	p.mu.Lock()
	all := slices.Clone(p.conns)
	p.mu.Unlock()
	for _, c := range all {
		c.drop()
	}
	p.work.Wait()
}

// close ends the work for a process that has exited. Muster is told first that it had
// called ProcessEnding, if it can be.
func (p *process) close() {
	p.mu.Lock()
	leaving := p.leaving
	p.mu.Unlock()
	if leaving != nil {
		late := time.NewTimer(parting)
		select {
		case <-leaving:
		case <-late.C:
		}
		late.Stop()
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // nobody waits for answers any more
	p.stop(ctx)
}
