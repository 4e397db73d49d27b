package wire

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Package is what the names of all messages begin with.
const Package = "com.amazon.whitewater.auxproxy.pbuffer."

// The requests of processes. Names and numbers of members are those of AWS's messages.
type (
	// ProcessReady says that the process can host a game session.
	ProcessReady struct {
		LogPaths []string
		Port     int
	}
	// ProcessEnding says that the process exits.
	ProcessEnding struct{}
	// ReportHealth is sent about once a minute.
	ReportHealth struct{ Healthy bool }
	// GameSessionActivate says that the game session accepts players now.
	GameSessionActivate struct{ GameSessionID string }
	// GameSessionTerminate ends the game session. The process goes on; it may call
	// ProcessReady again.
	GameSessionTerminate struct{ GameSessionID string }
	// UpdatePlayerSessionCreationPolicy opens or closes the game session to new players.
	UpdatePlayerSessionCreationPolicy struct{ GameSessionID, Policy string }
	// AcceptPlayerSession says that a player has connected.
	AcceptPlayerSession struct{ GameSessionID, PlayerSessionID string }
	// RemovePlayerSession says that a player has left.
	RemovePlayerSession struct{ GameSessionID, PlayerSessionID string }
	// DescribePlayerSessions requests player sessions by one of its first three members,
	// or by none: then those of the process's own game session.
	DescribePlayerSessions struct {
		GameSessionID, PlayerID, PlayerSessionID string
		StatusFilter, NextToken                  string
		Limit                                    int
	}
	// BackfillMatchmaking requests players.
	BackfillMatchmaking struct {
		TicketID, GameSessionARN, ConfigurationARN string
		Players                                    []Player
	}
	// StopMatchmaking ends a backfill.
	StopMatchmaking struct{ TicketID, GameSessionARN, ConfigurationARN string }
	// GetInstanceCertificate requests the paths of the TLS certificate.
	GetInstanceCertificate struct{}
)

// Player is a player of a backfill.
type Player struct {
	ID         string
	Attributes map[string]Attribute
	Team       string
	LatencyMS  map[string]int
}

// The types of attributes.
const (
	TypeString = 1 + iota
	TypeDouble
	TypeStringList
	TypeStringDoubleMap
)

// Attribute is an attribute of a player; Type says which other member counts.
type Attribute struct {
	Type int
	S    string
	N    float64
	SL   []string
	SDM  map[string]float64
}

// ErrUnknown says that a request is none of Server SDK 3 or 4.
var ErrUnknown = errors.New("it is no request of Server SDK 3 or 4")

// ParseRequest reads a request by the name of its message, with or without Package.
// Members that AWS's messages do not have are skipped.
func ParseRequest(name string, body []byte) (any, error) {
	name = strings.TrimPrefix(name, Package)
	read := requests[name]
	if read == nil {
		return nil, fmt.Errorf("%.80q: %w", name, ErrUnknown)
	}
	request, err := read(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return request, nil
}

// requests reads each request.
var requests = map[string]func([]byte) (any, error){
	"ProcessReady":         reader(func(m *ProcessReady) members { return members{1: &m.LogPaths, 2: &m.Port} }),
	"ProcessEnding":        reader(func(*ProcessEnding) members { return nil }),
	"ReportHealth":         reader(func(m *ReportHealth) members { return members{1: &m.Healthy} }),
	"GameSessionActivate":  reader(func(m *GameSessionActivate) members { return members{1: &m.GameSessionID} }),
	"GameSessionTerminate": reader(func(m *GameSessionTerminate) members { return members{1: &m.GameSessionID} }),
	"UpdatePlayerSessionCreationPolicy": reader(func(m *UpdatePlayerSessionCreationPolicy) members {
		return members{1: &m.GameSessionID, 2: &m.Policy}
	}),
	"AcceptPlayerSession": reader(func(m *AcceptPlayerSession) members { return members{1: &m.GameSessionID, 2: &m.PlayerSessionID} }),
	"RemovePlayerSession": reader(func(m *RemovePlayerSession) members { return members{1: &m.GameSessionID, 2: &m.PlayerSessionID} }),
	"DescribePlayerSessionsRequest": reader(func(m *DescribePlayerSessions) members {
		return members{1: &m.GameSessionID, 2: &m.PlayerID, 3: &m.PlayerSessionID, 4: &m.StatusFilter, 5: &m.NextToken, 6: &m.Limit}
	}),
	"BackfillMatchmakingRequest": reader(func(m *BackfillMatchmaking) members {
		return members{1: &m.TicketID, 2: &m.GameSessionARN, 3: &m.ConfigurationARN, 4: func(body []byte) error {
			var p Player
			err := read(body, p.members())
			m.Players = append(m.Players, p)
			return err
		}}
	}),
	"StopMatchmakingRequest": reader(func(m *StopMatchmaking) members {
		return members{1: &m.TicketID, 2: &m.GameSessionARN, 3: &m.ConfigurationARN}
	}),
	"GetInstanceCertificate": reader(func(*GetInstanceCertificate) members { return nil }),
}

func (p *Player) members() members {
	return members{
		1: &p.ID, 3: &p.Team,
		2: func(body []byte) error { return entry(body, &p.Attributes, func(a *Attribute) any { return a.read }) },
		4: func(body []byte) error { return entry(body, &p.LatencyMS, func(n *int) any { return n }) },
	}
}

func (a *Attribute) read(body []byte) error {
	return read(body, members{
		1: &a.Type, 2: &a.S, 3: &a.N, 4: &a.SL,
		5: func(body []byte) error { return entry(body, &a.SDM, func(n *float64) any { return n }) },
	})
}

// entry reads an entry of a map. to returns the destination of its value.
func entry[V any](body []byte, all *map[string]V, to func(*V) any) error {
	var key string
	var value V
	if err := read(body, members{1: &key, 2: to(&value)}); err != nil {
		return err
	}
	if *all == nil {
		*all = map[string]V{}
	}
	(*all)[key] = value
	return nil
}

// members are the destinations of a message's members, by their numbers: *string,
// *[]string, *int, *bool, *float64, or a function that reads an inner message.
type members map[protowire.Number]any

// reader returns a function that reads a message.
func reader[T any](of func(*T) members) func([]byte) (any, error) {
	return func(body []byte) (any, error) {
		var m T
		err := read(body, of(&m))
		return m, err
	}
}

// read reads a message. Of a member that comes twice, the last one counts.
func read(body []byte, to members) error {
	for len(body) > 0 {
		number, kind, n := protowire.ConsumeTag(body)
		if n < 0 {
			return protowire.ParseError(n)
		}
		body = body[n:]
		if n = protowire.ConsumeFieldValue(number, kind, body); n < 0 {
			return protowire.ParseError(n)
		}
		if err := set(to[number], kind, body[:n]); err != nil {
			return fmt.Errorf("member %d: %w", number, err)
		}
		body = body[n:]
	}
	return nil
}

// set stores the value of a member, which is complete. A value of another type than the
// member's is skipped, as protobuf does.
func set(to any, kind protowire.Type, value []byte) error {
	switch kind {
	case protowire.VarintType:
		v, _ := protowire.ConsumeVarint(value)
		switch to := to.(type) {
		case *int:
			*to = int(int32(v))
		case *bool:
			*to = v != 0
		}
	case protowire.Fixed64Type:
		if to, ok := to.(*float64); ok {
			v, _ := protowire.ConsumeFixed64(value)
			*to = math.Float64frombits(v)
		}
	case protowire.BytesType:
		v, _ := protowire.ConsumeBytes(value)
		return setBytes(to, v)
	}
	return nil
}

func setBytes(to any, value []byte) error {
	switch to := to.(type) {
	case func([]byte) error:
		return to(value)
	case *string:
		*to = string(value)
	case *[]string:
		*to = append(*to, string(value))
	default:
		return nil
	}
	if !utf8.Valid(value) {
		return errors.New("it is not in UTF-8")
	}
	return nil
}
