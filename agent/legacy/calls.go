package legacy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/gamelink"
	"github.com/musterhq/muster/agent/legacy/wire"
)

// Times of requests.
const (
	answering = 20 * time.Second // the latest answer to a request
	parting   = 2 * time.Second  // the latest answer to ProcessEnding
)

// failure is an error that the process may see.
type failure struct {
	status  string // of a wire.Result
	message string
}

func (f *failure) Error() string { return f.message }

func refuse(format string, args ...any) error {
	return &failure{wire.BadRequest, fmt.Sprintf(format, args...)}
}

// ask sends a request to Muster.
func (p *process) ask(ctx context.Context, action string, members map[string]any, to any) error {
	p.mu.Lock()
	link := p.link
	p.mu.Unlock()
	if link == nil {
		return refuse("the process is not connected: call InitSDK first")
	}
	return link.Ask(ctx, action, members, to)
}

// enter counts a request that is not answered yet. If it returns an error, the request is
// answered with that.
func (p *process) enter() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || p.open >= maxCalls {
		return &failure{wire.ServerError, "too many requests are unanswered, or the agent ends"}
	}
	p.open++
	p.calls.Add(1)
	return nil
}

// answered is called once the answer to a request that has entered is written.
func (p *process) answered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open--
	p.calls.Done()
}

// answer handles a request and returns its answer, in every case within answering.
func (p *process) answer(name string, body []byte) (answer []byte, err error) {
	request, err := wire.ParseRequest(name, body)
	if err != nil {
		return failed(refuse("%v", err))
	}
	ctx, cancel := context.WithTimeout(p.life, answering)
	defer cancel()
	out, err := p.do(ctx, request)
	if err != nil {
		return failed(err)
	}
	if out == nil {
		out = wire.Result{Status: wire.OK}
	}
	return wire.Encode(out), nil
}

// failed returns the answer to a request that failed.
func failed(err error) ([]byte, error) {
	f := asFailure(err)
	return wire.Encode(wire.Result{Status: f.status, ErrorMessage: f.message}), f
}

// asFailure returns what the process sees of an error.
func asFailure(err error) *failure {
	var known *failure
	var refused *gamelink.Refusal
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &refused) && refused.Status < 500:
		return &failure{wire.BadRequest, refused.Message}
	case errors.As(err, &refused):
		return &failure{wire.ServerError, refused.Message}
	}
	return &failure{wire.ServerError, "Muster has not answered in time; it is not known whether it has done what was requested"}
}

// do handles a request. Its answer may be nil.
func (p *process) do(ctx context.Context, request any) (any, error) {
	switch r := request.(type) {
	case wire.ProcessReady:
		return nil, p.ready(ctx, r)
	case wire.ProcessEnding:
		return nil, p.ending(ctx)
	case wire.ReportHealth:
		p.mu.Lock()
		p.healthy = r.Healthy
		p.mu.Unlock()
		p.beat.Send()
		return nil, nil
	case wire.GameSessionActivate:
		return nil, p.ask(ctx, "ActivateGameSession", map[string]any{"GameSessionId": p.session(r.GameSessionID)}, nil)
	case wire.GameSessionTerminate:
		return nil, p.rest(ctx, p.session(r.GameSessionID))
	case wire.UpdatePlayerSessionCreationPolicy:
		return nil, p.ask(ctx, "UpdatePlayerSessionCreationPolicy", map[string]any{"GameSessionId": p.session(r.GameSessionID), "PlayerSessionPolicy": r.Policy}, nil)
	case wire.AcceptPlayerSession:
		return nil, p.ask(ctx, "AcceptPlayerSession", map[string]any{"GameSessionId": p.session(r.GameSessionID), "PlayerSessionId": r.PlayerSessionID}, nil)
	case wire.RemovePlayerSession:
		return nil, p.ask(ctx, "RemovePlayerSession", map[string]any{"GameSessionId": p.session(r.GameSessionID), "PlayerSessionId": r.PlayerSessionID}, nil)
	case wire.DescribePlayerSessions:
		return p.describe(ctx, r)
	case wire.BackfillMatchmaking:
		return p.backfill(ctx, r)
	case wire.StopMatchmaking:
		return nil, p.stopBackfill(ctx, r)
	case wire.GetInstanceCertificate:
		return p.certificate(ctx)
	}
	return nil, refuse("%T: %v", request, wire.ErrUnknown)
}

// session returns the id of the game session that a request names, or else that of the
// process's own.
func (p *process) session(named string) string {
	if k := p.state(); named == "" && k.Session != nil {
		return k.Session.GameSessionID
	}
	return named
}

// ready is ProcessReady. A process that has hosted a game session and calls it again can
// host another one.
func (p *process) ready(ctx context.Context, r wire.ProcessReady) error {
	p.readying.Lock()
	defer p.readying.Unlock()
	p.mu.Lock()
	k, conns := p.kept, len(p.conns)
	p.mu.Unlock()
	switch {
	case k.Ended:
		return refuse("the process has called ProcessEnding")
	case conns == 0:
		return refuse("the connection by which the process would get a game session is lost; exit, and a new process is started")
	case k.Ready && k.Session == nil && k.Port == r.Port && slices.Equal(k.LogPaths, r.LogPaths):
		return nil
	case k.Ready || k.Session != nil:
		if err := p.rest(ctx, ""); err != nil {
			return err
		}
	}
	logs := r.LogPaths
	if logs == nil {
		logs = []string{}
	}
	if err := p.ask(ctx, "ActivateServerProcess", map[string]any{
		"SdkVersion": k.Version, "SdkLanguage": k.Language, "SdkToolName": "", "SdkToolVersion": "", "Port": r.Port, "LogPaths": logs,
	}, nil); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.change(func(k *kept) { k.Ready, k.Port, k.LogPaths = true, r.Port, r.LogPaths })
	return nil
}

// rest ends a game session of the process, or whatever it hosts if gameSessionID is "". It
// gets no other before it calls ProcessReady again.
func (p *process) rest(ctx context.Context, gameSessionID string) error {
	if err := p.ask(ctx, "FinishGameSession", map[string]any{"GameSessionId": gameSessionID}, nil); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.change(func(k *kept) { k.Ready, k.Session, k.Unsent, k.Ticket = false, nil, false, "" })
	if p.kept.WebSocket && len(p.conns) == 0 {
		p.leave() // it cannot get another game session
	}
	return nil
}

// ending is ProcessEnding. The process exits when it is answered, so Muster is told first,
// if that does not take long.
func (p *process) ending(ctx context.Context) error {
	p.mu.Lock()
	p.leave()
	done := p.leaving
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, parting)
	defer cancel()
	select {
	case <-done:
	case <-ctx.Done():
	}
	return nil
}

func (p *process) describe(ctx context.Context, r wire.DescribePlayerSessions) (any, error) {
	if r.PlayerID == "" && r.PlayerSessionID == "" {
		r.GameSessionID = p.session(r.GameSessionID)
	}
	var page struct {
		NextToken      string
		PlayerSessions []struct {
			PlayerID        string `json:"PlayerId"`
			PlayerSessionID string `json:"PlayerSessionId"`
			GameSessionID   string `json:"GameSessionId"`
			FleetID         string `json:"FleetId"`
			PlayerData      string
			IPAddress       string `json:"IpAddress"`
			Port            int
			CreationTime    int64
			TerminationTime int64
			DNSName         string `json:"DnsName"`
			Status          string
		}
	}
	out := wire.PlayerSessions{PlayerSessions: []wire.PlayerSession{}}
	err := p.ask(ctx, "DescribePlayerSessions", map[string]any{
		"GameSessionId": r.GameSessionID, "PlayerId": r.PlayerID, "PlayerSessionId": r.PlayerSessionID,
		"PlayerSessionStatusFilter": r.StatusFilter, "NextToken": r.NextToken, "Limit": max(r.Limit, 0),
	}, &page)
	var refused *gamelink.Refusal
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		return out, nil // C# 3.3.0 would wait for half a minute
	}
	if err != nil {
		return nil, err
	}
	out.NextToken = page.NextToken
	for _, s := range page.PlayerSessions {
		out.PlayerSessions = append(out.PlayerSessions, wire.PlayerSession{
			PlayerSessionID: s.PlayerSessionID, PlayerID: s.PlayerID, GameSessionID: s.GameSessionID, FleetID: s.FleetID, IPAddress: s.IPAddress,
			Status: s.Status, CreationTime: s.CreationTime, TerminationTime: s.TerminationTime, Port: s.Port, PlayerData: s.PlayerData, DNSName: s.DNSName,
		})
	}
	return out, nil
}

// attributeTypes are the names of the types of attributes in Server SDK 5.
var attributeTypes = map[int]string{
	wire.TypeString: "STRING", wire.TypeDouble: "DOUBLE", wire.TypeStringList: "STRING_LIST", wire.TypeStringDoubleMap: "STRING_DOUBLE_MAP",
}

func (p *process) backfill(ctx context.Context, r wire.BackfillMatchmaking) (any, error) {
	players := make([]map[string]any, 0, len(r.Players))
	for _, one := range r.Players {
		attributes := map[string]any{}
		for name, a := range one.Attributes {
			kind := attributeTypes[a.Type]
			if kind == "" {
				return nil, refuse("attribute %q of player %q has type %d; there are 1 to %d", name, one.ID, a.Type, wire.TypeStringDoubleMap)
			}
			attributes[name] = map[string]any{"AttrType": kind, "S": a.S, "N": a.N, "SL": a.SL, "SDM": a.SDM}
		}
		players = append(players, map[string]any{"PlayerId": one.ID, "Team": one.Team, "PlayerAttributes": attributes, "LatencyInMs": one.LatencyMS})
	}
	var ticket struct {
		TicketID string `json:"TicketId"`
	}
	match := p.match()
	if err := p.ask(ctx, "StartMatchBackfill", map[string]any{
		"GameSessionArn": p.session(r.GameSessionARN), "MatchmakingConfigurationArn": or(r.ConfigurationARN, match.Configuration), "TicketId": r.TicketID, "Players": players,
	}, &ticket); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.change(func(k *kept) { k.Ticket = ticket.TicketID })
	return wire.Ticket{TicketID: ticket.TicketID}, nil
}

// stopBackfill is StopMatchmaking. Without a ticket it means the latest one; without that,
// the automatic backfill's.
func (p *process) stopBackfill(ctx context.Context, r wire.StopMatchmaking) error {
	match := p.match()
	ticket := or(r.TicketID, or(p.state().Ticket, match.AutoTicket))
	if err := p.ask(ctx, "StopMatchBackfill", map[string]any{
		"GameSessionArn": p.session(r.GameSessionARN), "MatchmakingConfigurationArn": or(r.ConfigurationARN, match.Configuration), "TicketId": ticket, "Players": []any{},
	}, nil); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept.Ticket == ticket {
		p.change(func(k *kept) { k.Ticket = "" })
	}
	return nil
}

// match is what requests may leave out of matchmaker data.
type match struct {
	Configuration string `json:"matchmakingConfigurationArn"`
	AutoTicket    string `json:"autoBackfillTicketId"`
}

func (p *process) match() (m match) {
	if k := p.state(); k.Session != nil && json.Unmarshal([]byte(k.Session.MatchmakerData), &m) != nil {
		return match{}
	}
	return m
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// The files of a certificate, named as on AWS's hosts.
const (
	certificateFile = "certificate.pem"
	chainFile       = "certificateChain.pem"
	privateKeyFile  = "privateKey.pem"
	rootFile        = "rootCertificate.pem"
)

// certificate is GetInstanceCertificate. Muster says in which folder the files are.
func (p *process) certificate(ctx context.Context) (any, error) {
	var found struct {
		CertificatePath string
		ComputeName     string
	}
	if err := p.ask(ctx, "GetComputeCertificate", nil, &found); err != nil {
		return nil, err
	}
	if found.CertificatePath == "" {
		return nil, refuse("there is no certificate: the fleet's CertificateType is not GENERATED")
	}
	dir := found.CertificatePath
	c := wire.Certificate{
		CertificatePath: filepath.Join(dir, certificateFile), CertificateChainPath: filepath.Join(dir, chainFile), PrivateKeyPath: filepath.Join(dir, privateKeyFile),
	}
	if k := p.state(); !older(k.Version, 3, 4) {
		c.RootCertificatePath = filepath.Join(dir, rootFile)
		c.HostName = found.ComputeName
		if k.Session != nil && k.Session.DNSName != "" {
			c.HostName = k.Session.DNSName
		}
	}
	return c, nil
}

// older reports whether a version is before another one. A version that cannot be read is
// not.
func older(version string, major, minor int) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	a, errA := strconv.Atoi(parts[0])
	b, errB := strconv.Atoi(parts[1])
	return errA == nil && errB == nil && (a < major || a == major && b < minor)
}
