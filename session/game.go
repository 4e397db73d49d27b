package session

import (
	"slices"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/fleet"
)

// JoinPolicy says whether a game session accepts new players
// (PlayerSessionCreationPolicy).
type JoinPolicy string

// The join policies of the API.
const (
	AcceptAll JoinPolicy = "ACCEPT_ALL"
	DenyAll   JoinPolicy = "DENY_ALL"
)

// Reasons of a game session that was ended by request (GameSessionStatusReason).
const (
	ReasonTriggered = "TRIGGERED_ON_PROCESS_TERMINATE"
	ReasonForced    = "FORCE_TERMINATED"
)

// Property is one GameProperty.
type Property struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// GameSession is one game session, running or ended.
type GameSession struct {
	ID          string           `json:"id"` // its ARN
	FleetID     string           `json:"fleet_id"`
	Location    string           `json:"location"`
	Name        string           `json:"name,omitzero"`
	Status      Status           `json:"status"`
	Reason      string           `json:"reason,omitzero"`
	Created     time.Time        `json:"created"`
	Ended       time.Time        `json:"ended,omitzero"`
	MaxPlayers  int              `json:"max_players"`
	Properties  []Property       `json:"properties,omitzero"`
	Data        string           `json:"data,omitzero"`
	Matchmaker  string           `json:"matchmaker_data,omitzero"`
	JoinPolicy  JoinPolicy       `json:"join_policy"`
	Protection  fleet.Protection `json:"protection"`
	CreatorID   string           `json:"creator_id,omitzero"`
	IPAddress   string           `json:"ip_address,omitzero"`
	DNSName     string           `json:"dns_name,omitzero"`
	Port        int              `json:"port"`
	ProcessKey  string           `json:"process"`
	Fingerprint string           `json:"fingerprint,omitzero"` // of the request, if it had an idempotency token

	ActivateBy time.Time `json:"activate_by,omitzero"` // while ACTIVATING
	ArchiveAt  time.Time `json:"archive_at,omitzero"`  // once ended
}

// Property returns the value of a game property, and whether it exists.
func (g *GameSession) Property(key string) (string, bool) {
	at := slices.IndexFunc(g.Properties, func(p Property) bool { return p.Key == key })
	if at < 0 {
		return "", false
	}
	return g.Properties[at].Value, true
}

// due returns when the session must be activated or, once ended, archived, or zero.
func (g *GameSession) due() time.Time {
	switch g.Status {
	case Activating:
		return g.ActivateBy
	case Terminated:
		return g.ArchiveAt
	}
	return time.Time{}
}

// start returns what the process is told about the session.
func (g *GameSession) start() compute.Start {
	properties := make(map[string]string, len(g.Properties))
	for _, p := range g.Properties {
		properties[p.Key] = p.Value
	}
	return compute.Start{
		GameSessionID: g.ID, Name: g.Name, Data: g.Data, MatchmakerData: g.Matchmaker, MaxPlayers: g.MaxPlayers,
		IPAddress: g.IPAddress, DNSName: g.DNSName, Port: g.Port, Properties: properties,
	}
}

// merge returns game properties with changes added or replaced by key. None is removed.
func merge(old, changes []Property) []Property {
	merged := slices.Clone(old)
	for _, c := range changes {
		at := slices.IndexFunc(merged, func(p Property) bool { return p.Key == c.Key })
		if at < 0 {
			merged = append(merged, c)
		} else {
			merged[at] = c
		}
	}
	return merged
}
