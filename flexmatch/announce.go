package flexmatch

import (
	"time"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/internal/store"
)

// DetailType is the detail-type of matchmaking events (EventBridge).
const DetailType = "GameLift Matchmaking Event"

// notAvailable stands for an unknown estimated wait.
const notAvailable = "NOT_AVAILABLE"

// detail is the published payload of a matchmaking event (developer guide,
// "FlexMatch matchmaking events"). Members that an event does not have are absent.
type detail struct {
	Type               string       `json:"type"`
	MatchID            string       `json:"matchId,omitzero"`
	Tickets            []ticketInfo `json:"tickets"`
	EstimatedWait      any          `json:"estimatedWaitMillis,omitzero"` // in seconds, despite the name
	AcceptanceRequired *bool        `json:"acceptanceRequired,omitzero"`
	AcceptanceTimeout  *int         `json:"acceptanceTimeout,omitzero"`
	Acceptance         string       `json:"acceptance,omitzero"`
	Reason             string       `json:"reason,omitzero"`
	Message            string       `json:"message,omitzero"`
	Rules              []ruleInfo   `json:"ruleEvaluationMetrics,omitzero"`
	EventData          string       `json:"customEventData,omitzero"`
	Session            sessionInfo  `json:"gameSessionInfo"`
}

type ticketInfo struct {
	ID        string       `json:"ticketId"`
	StartTime string       `json:"startTime"`
	Players   []playerInfo `json:"players"`
}

type playerInfo struct {
	ID              string `json:"playerId"`
	PlayerSessionID string `json:"playerSessionId,omitzero"`
	Team            string `json:"team,omitzero"`
	Accepted        *bool  `json:"accepted,omitzero"`
}

type sessionInfo struct {
	ARN     string       `json:"gameSessionArn,omitzero"`
	IP      string       `json:"ipAddress,omitzero"`
	DNS     *string      `json:"dnsName,omitzero"` // present for every hosted game: some consumers fail without it
	Port    int          `json:"port,omitzero"`
	Gateway string       `json:"playerGatewayStatus,omitzero"`
	Players []playerInfo `json:"players"`
}

type ruleInfo struct {
	Name   string `json:"ruleName"`
	Passed int    `json:"passedCount"`
	Failed int    `json:"failedCount"`
}

// gatewayDisabled is the PlayerGatewayStatus of every game session: Muster has
// no player gateway.
const gatewayDisabled = "DISABLED"

// eventCodes maps published types of events to codes.
var eventCodes = map[string]event.Code{
	"MatchmakingSearching": event.MatchmakingSearching, "PotentialMatchCreated": event.PotentialMatchCreated,
	"AcceptMatch": event.MatchAnswered, "AcceptMatchCompleted": event.MatchAcceptanceEnded,
	"MatchmakingSucceeded": event.MatchmakingSucceeded, "MatchmakingTimedOut": event.MatchmakingTimedOut,
	"MatchmakingCancelled": event.MatchmakingCancelled, "MatchmakingFailed": event.MatchmakingFailed,
}

// emit appends an event of a configuration.
func (s *Service) emit(tx *store.Tx, configuration, resource string, d detail) {
	e := event.Event{
		Code: eventCodes[d.Type], Resource: resource, Message: d.Message, GameSessionID: d.Session.ARN,
		Notice: &event.Notice{DetailType: DetailType, Source: s.ConfigurationARN(configuration)},
	}
	if c := s.t.configurations.Get(tx, configuration); c != nil {
		e.Notice.Target, d.EventData = c.Target, c.EventData
	}
	raw, err := json.Marshal(d)
	if err != nil {
		panic(err) // plain structs
	}
	e.Notice.Detail = raw
	s.events.Append(tx, e)
}

func (s *Service) announceSearching(tx *store.Tx, t *Ticket, wait int) {
	d := detailOf("MatchmakingSearching", []*Ticket{t}, showNothing)
	if d.EstimatedWait = any(wait); wait == 0 {
		d.EstimatedWait = notAvailable
	}
	s.emit(tx, t.Configuration, t.ID, d)
}

// announceEnd publishes the end of a ticket that ended alone.
func (s *Service) announceEnd(tx *store.Tx, t *Ticket, kind string) {
	d := detailOf(kind, []*Ticket{t}, showTeam)
	d.Reason, d.Message, d.MatchID = t.Reason, t.Message, t.MatchID
	d.Rules = s.ruleInfos(tx, t.Configuration, t.Rules)
	s.emit(tx, t.Configuration, t.ID, d)
}

// announceFailed publishes the failure of a match and its tickets.
func (s *Service) announceFailed(tx *store.Tx, m *Match, tickets ...*Ticket) {
	d := detailOf("MatchmakingFailed", tickets, showTeam)
	d.Reason, d.Message, d.MatchID = tickets[0].Reason, tickets[0].Message, m.ID
	d.Rules = s.ruleInfos(tx, m.Configuration, m.Rules)
	s.emit(tx, m.Configuration, m.ID, d)
}

// matchEvent is an event of a whole match.
type matchEvent struct {
	kind       string
	asks       bool // PotentialMatchCreated
	required   bool
	timeout    time.Duration
	answers    bool // include the players' answers
	acceptance string
	connection *connection
}

func (s *Service) announceMatch(tx *store.Tx, m *Match, tickets []*Ticket, e matchEvent) {
	show := showTeam
	if e.answers {
		show = showAnswers
	}
	d := detailOf(e.kind, tickets, show)
	d.MatchID, d.Acceptance = m.ID, e.acceptance
	if e.asks {
		d.AcceptanceRequired = new(e.required)
		d.Rules = s.ruleInfos(tx, m.Configuration, m.Rules)
		if e.required {
			d.AcceptanceTimeout = new(int(e.timeout / time.Second))
		}
	}
	if to := e.connection; to != nil {
		d.Session.ARN, d.Session.IP, d.Session.Port, d.Session.Gateway = to.gameSessionID, to.ip, to.port, gatewayDisabled
		d.Session.DNS = &to.dns
	}
	s.emit(tx, m.Configuration, m.ID, d)
}

// shown is what an event says about each player.
type shown int

const (
	showNothing shown = iota
	showTeam
	showAnswers
)

func detailOf(kind string, tickets []*Ticket, show shown) detail {
	d := detail{Type: kind, Session: sessionInfo{Players: []playerInfo{}}}
	for _, t := range tickets {
		info := ticketInfo{ID: t.ID, StartTime: stamp(t.Started), Players: make([]playerInfo, len(t.Members))}
		for i, m := range t.Members {
			p := playerInfo{ID: m.PlayerID, PlayerSessionID: m.PlayerSessionID}
			if show != showNothing {
				p.Team = m.Team
			}
			if show == showAnswers && m.Answer != "" {
				p.Accepted = new(m.Answer == Accept)
			}
			info.Players[i] = p
		}
		d.Tickets = append(d.Tickets, info)
		d.Session.Players = append(d.Session.Players, info.Players...)
	}
	return d
}

// ruleInfos returns the counts of every rule of a configuration, zeros if nothing was
// counted.
func (s *Service) ruleInfos(r store.Reader, configuration string, counts []RuleCount) []ruleInfo {
	if counts == nil {
		counts = s.noCounts(r, configuration)
	}
	out := make([]ruleInfo, len(counts))
	for i, c := range counts {
		out[i] = ruleInfo{c.Rule, c.Passed, c.Failed}
	}
	return out
}

func (s *Service) noCounts(r store.Reader, configuration string) []RuleCount {
	c := s.t.configurations.Get(r, configuration)
	if c == nil {
		return nil
	}
	rs, err := s.rules(r, c)
	if err != nil {
		return nil
	}
	var out []RuleCount
	for _, i := range search.Evaluated(rs) {
		out = append(out, RuleCount{Rule: rs.Levels()[0].Rules[i].Name})
	}
	return out
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
