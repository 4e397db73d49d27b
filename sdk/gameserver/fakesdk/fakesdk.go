// Package fakesdk is an in-memory hosting service for unit tests of game servers
// built on package gameserver. The test plays the service: it starts the game
// session, reserves slots, updates the session and requests its end.
//
//	sdk := fakesdk.New()
//	server, _ := gameserver.New(gameserver.Options{Port: 7777, SDK: sdk}, game)
//	go server.Run(ctx)
//	sdk.StartSession(fakesdk.Session("gsess-1", 2))
//	sdk.Reserve("psess-1", "anna")
package fakesdk

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/common"
	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/model"
	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/model/request"
	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/model/result"
	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/server"
)

// Fake implements gameserver.SDK. Create one with New.
type Fake struct {
	ready  chan struct{} // closed by Ready
	active chan struct{} // closed by the first Activate that succeeds
	ending chan struct{} // closed by Ending

	mu       sync.Mutex
	on       server.ProcessParameters
	calls    []string
	fail     map[string]error
	block    map[string]chan struct{}
	session  model.GameSession
	players  []model.PlayerSession
	status   map[string]string // of player sessions
	ends     int64             // Unix seconds
	tickets  int
	backfill []request.StartMatchBackfillRequest
}

// New returns a service without a connection.
func New() *Fake {
	return &Fake{ready: make(chan struct{}), active: make(chan struct{}), ending: make(chan struct{}),
		fail: map[string]error{}, block: map[string]chan struct{}{}, status: map[string]string{}}
}

// Session returns a game session for StartSession.
func Session(id string, maxPlayers int) model.GameSession {
	return model.GameSession{GameSessionID: id, MaximumPlayerSessionCount: maxPlayers, IPAddress: "127.0.0.1", Port: 7777}
}

// Fail makes a call, such as "Activate", return err from now on; nil lets it succeed.
func (f *Fake) Fail(call string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail[call] = err
}

// Block makes calls of a name hang until the returned function is called.
func (f *Fake) Block(call string) (release func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	gate := make(chan struct{})
	f.block[call] = gate
	return sync.OnceFunc(func() {
		f.mu.Lock()
		delete(f.block, call)
		f.mu.Unlock()
		close(gate)
	})
}

// Calls returns the calls made, in order, with the argument that matters.
func (f *Fake) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// Activated returns a channel that is closed when the process has activated a game session.
// Players of a real service learn the address only then.
func (f *Fake) Activated() <-chan struct{} { return f.active }

// Ended returns a channel that is closed when the process has reported its end.
func (f *Fake) Ended() <-chan struct{} { return f.ending }

// StartSession assigns a game session to the process, as soon as it is ready.
func (f *Fake) StartSession(g model.GameSession) {
	<-f.ready
	f.mu.Lock()
	f.session = g
	on := f.on
	f.mu.Unlock()
	on.OnStartGameSession(g)
}

// Update changes the game session.
func (f *Fake) Update(g model.GameSession, reason model.UpdateReason, ticketID string) {
	<-f.ready
	f.on.OnUpdateGameSession(model.UpdateGameSession{GameSession: g, BackfillTicketID: ticketID}.WithReason(reason))
}

// Terminate requests that the process end by a time.
func (f *Fake) Terminate(at time.Time) {
	<-f.ready
	f.mu.Lock()
	f.ends = at.Unix()
	f.mu.Unlock()
	f.on.OnProcessTerminate()
}

// Healthy runs the process's health check.
func (f *Fake) Healthy() bool {
	<-f.ready
	return f.on.OnHealthCheck()
}

// Reserve creates a player session that Accept accepts once.
func (f *Fake) Reserve(playerSessionID, playerID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status[playerSessionID] = "RESERVED"
	f.players = append(f.players, model.PlayerSession{PlayerSessionID: playerSessionID, PlayerID: playerID})
}

// Backfills returns the backfills that were requested.
func (f *Fake) Backfills() []request.StartMatchBackfillRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.backfill)
}

// call records a call, and blocks or fails it if the test said so.
func (f *Fake) call(name string, arguments ...string) error {
	f.mu.Lock()
	line := name
	for _, a := range arguments {
		line += " " + a
	}
	f.calls = append(f.calls, line)
	gate := f.block[name]
	f.mu.Unlock()
	if gate != nil {
		<-gate
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fail[name]
}

// Init implements gameserver.SDK.
func (f *Fake) Init(server.ServerParameters) error { return f.call("Init") }

// Ready implements gameserver.SDK.
func (f *Fake) Ready(p server.ProcessParameters) error {
	if err := f.call("Ready"); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.on = p
	close(f.ready)
	return nil
}

// Ending implements gameserver.SDK.
func (f *Fake) Ending() error {
	if err := f.call("Ending"); err != nil {
		return err
	}
	close(f.ending)
	return nil
}

// Destroy implements gameserver.SDK.
func (f *Fake) Destroy() error { return f.call("Destroy") }

// Activate implements gameserver.SDK.
func (f *Fake) Activate() error {
	err := f.call("Activate")
	if err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		select {
		case <-f.active:
		default:
			close(f.active)
		}
	}
	return err
}

// SetPolicy implements gameserver.SDK.
func (f *Fake) SetPolicy(p model.PlayerSessionCreationPolicy) error {
	return f.call("SetPolicy", map[model.PlayerSessionCreationPolicy]string{model.AcceptAll: "ACCEPT_ALL", model.DenyAll: "DENY_ALL"}[p])
}

// Accept implements gameserver.SDK: a reserved player session, once.
func (f *Fake) Accept(id string) error {
	if err := f.call("Accept", id); err != nil {
		return err
	}
	return f.move(id, "RESERVED", "ACTIVE")
}

// Remove implements gameserver.SDK.
func (f *Fake) Remove(id string) error {
	if err := f.call("Remove", id); err != nil {
		return err
	}
	return f.move(id, "ACTIVE", "COMPLETED")
}

func (f *Fake) move(id, from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.status[id] != from {
		return common.NewGameLiftError(common.BadRequestException, "", fmt.Sprintf("player session %s is not %s", id, from))
	}
	f.status[id] = to
	return nil
}

// Describe implements gameserver.SDK, two player sessions a page.
func (f *Fake) Describe(r request.DescribePlayerSessionsRequest) (result.DescribePlayerSessionsResult, error) {
	var out result.DescribePlayerSessionsResult
	if err := f.call("Describe"); err != nil {
		return out, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	skip := len(r.NextToken)
	for _, p := range f.players {
		if s := f.status[p.PlayerSessionID]; r.PlayerSessionStatusFilter != "" && s != r.PlayerSessionStatusFilter {
			continue
		}
		if skip--; skip >= 0 {
			continue
		}
		if len(out.PlayerSessions) == 2 {
			out.NextToken = r.NextToken + "xx"
			break
		}
		out.PlayerSessions = append(out.PlayerSessions, p)
	}
	return out, nil
}

// StartBackfill implements gameserver.SDK.
func (f *Fake) StartBackfill(r request.StartMatchBackfillRequest) (result.StartMatchBackfillResult, error) {
	if err := f.call("StartBackfill", r.TicketID); err != nil {
		return result.StartMatchBackfillResult{}, err
	}
	if len(r.Players) == 0 {
		return result.StartMatchBackfillResult{}, errors.New("the official SDK refuses a backfill without players")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.backfill = append(f.backfill, r)
	if r.TicketID == "" {
		f.tickets++
		r.TicketID = fmt.Sprint("ticket-", f.tickets)
	}
	return result.StartMatchBackfillResult{TicketID: r.TicketID}, nil
}

// StopBackfill implements gameserver.SDK.
func (f *Fake) StopBackfill(r request.StopMatchBackfillRequest) error {
	return f.call("StopBackfill", r.TicketID)
}

// TerminationTime implements gameserver.SDK.
func (f *Fake) TerminationTime() (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ends, nil
}

// Certificate implements gameserver.SDK.
func (f *Fake) Certificate() (result.GetComputeCertificateResult, error) {
	return result.GetComputeCertificateResult{CertificatePath: "/tls/cert.pem", ComputeName: "compute-1"}, f.call("Certificate")
}
