package flexmatch

import (
	"time"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/flexmatch/search"
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
var eventCodes = map[life.NoticeType]event.Code{
	life.SearchingNotice: event.MatchmakingSearching, life.ProposedNotice: event.PotentialMatchCreated,
	life.AnsweredNotice: event.MatchAnswered, life.AcceptanceEndedNotice: event.MatchAcceptanceEnded,
	life.SucceededNotice: event.MatchmakingSucceeded, life.TimedOutNotice: event.MatchmakingTimedOut,
	life.CancelledNotice: event.MatchmakingCancelled, life.FailedNotice: event.MatchmakingFailed,
}

// publish appends an event.
func (c *change) publish(s life.Notice) {
	t, conf := s.Tickets[0], c.t.configurations.Get(c.tx, s.Tickets[0].Configuration)
	d, resource := detailOf(s), t.ID
	if s.Match != nil {
		d.MatchID, resource = s.Match.ID, s.Match.ID
	}
	switch s.Type {
	case life.SearchingNotice:
		if d.EstimatedWait = any(c.wait); c.wait == 0 {
			d.EstimatedWait = notAvailable
		}
	case life.ProposedNotice:
		d.Rules = c.ruleInfos(conf, s.Match.Rules)
		if d.AcceptanceRequired = new(conf.AcceptanceRequired); conf.AcceptanceRequired {
			d.AcceptanceTimeout = new(int(conf.AcceptanceTimeout / time.Second))
		}
	case life.AcceptanceEndedNotice:
		d.Acceptance = s.Result
	case life.FailedNotice:
		d.Reason, d.Message, d.Rules = t.Reason, t.Message, c.ruleInfos(conf, s.Match.Rules)
	case life.TimedOutNotice, life.CancelledNotice:
		d.Reason, d.Message, d.MatchID, d.Rules = t.Reason, t.Message, t.MatchID, c.ruleInfos(conf, t.Rules)
	}
	e := event.Event{
		Code: eventCodes[s.Type], Resource: resource, Message: d.Message, GameSessionID: d.Session.ARN,
		Notice: &event.Notice{DetailType: DetailType, Source: c.configurations.ARN(t.Configuration)},
	}
	if conf != nil {
		e.Notice.Target, d.EventData = conf.Target, conf.EventData
	}
	raw, err := json.Marshal(d)
	if err != nil {
		panic(err) // plain structs
	}
	e.Notice.Detail = raw
	c.events.Append(c.tx, e)
}

// detailOf returns what an event says about its tickets and their game session.
func detailOf(s life.Notice) detail {
	d := detail{Type: string(s.Type), Session: sessionInfo{Players: []playerInfo{}}}
	for _, t := range s.Tickets {
		info := ticketInfo{ID: t.ID, StartTime: stamp(t.Started), Players: make([]playerInfo, 0, len(t.Members))}
		for _, m := range t.Members {
			if m.Away {
				continue // may be in another ticket of the match
			}
			p := playerInfo{ID: m.PlayerID, PlayerSessionID: m.PlayerSessionID}
			if s.Type != life.SearchingNotice {
				p.Team = m.Team
			}
			if s.Type == life.AnsweredNotice && m.Answer != "" {
				p.Accepted = new(m.Answer == Accept)
			}
			info.Players = append(info.Players, p)
		}
		d.Tickets = append(d.Tickets, info)
		d.Session.Players = append(d.Session.Players, info.Players...)
	}
	if to := s.To; to != nil {
		d.Session.ARN, d.Session.IP, d.Session.Port, d.Session.Gateway = to.GameSessionID, to.IP, to.Port, gatewayDisabled
		d.Session.DNS = &to.DNS
	}
	return d
}

// ruleInfos returns the counts of every rule of a configuration, zeros if nothing was
// counted.
func (c *change) ruleInfos(conf *Configuration, counts []RuleCount) []ruleInfo {
	if counts == nil && conf != nil {
		if rs, err := c.ruleSets.of(c.tx, conf); err == nil {
			counts = search.Tally(nil).Counts(rs)
		}
	}
	out := make([]ruleInfo, len(counts))
	for i, c := range counts {
		out[i] = ruleInfo{c.Rule, c.Passed, c.Failed}
	}
	return out
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
