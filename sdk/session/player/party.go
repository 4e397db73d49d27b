package player

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// Party is a group of players who want to be matched together. A player is in at most
// one.
type Party = protocol.Party

// PartyMember is a member of a party. Ready is as of the moment it was read.
type PartyMember = protocol.PartyMember

// CreateParty creates a party for a matchmaker. most is the largest number of
// players; 0 leaves it to the matchmaker. The player leads the party; others join
// with its Code. It expires half an hour after its last change. Errors: ErrNotFound
// (the matchmaker), ErrConflict if the player is already in a party.
func (c *Client) CreateParty(ctx context.Context, matchmaker string, most int) (Party, error) {
	return c.party(ctx, http.MethodPost, "/parties", &protocol.PartyRequest{Matchmaker: matchmaker, Max: int64(most)})
}

// JoinParty joins a party by its code. Errors: ErrNotFound, ErrFull, ErrConflict if
// the player is in another party.
func (c *Client) JoinParty(ctx context.Context, code string) (Party, error) {
	return c.party(ctx, http.MethodPost, "/parties/join", &protocol.PartyJoin{Code: code})
}

// Party returns a party that the player is in. Errors: ErrNotFound.
func (c *Client) Party(ctx context.Context, partyID string) (Party, error) {
	return c.party(ctx, http.MethodGet, partyPath(partyID), nil)
}

// Membership is what a member contributes to a party.
type Membership struct {
	Ready bool // agrees to be matched: valid for a minute, and for one ticket
	// Attributes and Latency are as in session.Player.
	Attributes map[string]session.Attribute
	Latency    map[string]time.Duration
}

// ChangeMembership replaces this player's Membership of a party. Errors: ErrNotFound.
func (c *Client) ChangeMembership(ctx context.Context, partyID string, m Membership) (Party, error) {
	attributes, err := attributesOut(m.Attributes)
	if err != nil {
		return Party{}, err
	}
	in := &protocol.MemberChange{Ready: m.Ready, Attributes: attributes, LatencyMs: latencyOut(m.Latency)}
	return c.party(ctx, http.MethodPut, partyPath(partyID)+"/members/me", in)
}

// LeaveParty leaves a party. If the leader leaves, the member who joined next leads.
// Errors: ErrNotFound.
func (c *Client) LeaveParty(ctx context.Context, partyID string) error {
	return c.PutOut(ctx, partyID, "me")
}

// PutOut removes a member from a party that the player leads. Errors: ErrNotFound,
// ErrUnauthorized if another member leads.
func (c *Client) PutOut(ctx context.Context, partyID, playerID string) error {
	return c.account.call(ctx, call{method: http.MethodDelete, path: partyPath(partyID) + "/members/" + url.PathEscape(playerID)}, nil)
}

func partyPath(id string) string { return "/parties/" + url.PathEscape(id) }

func (c *Client) party(ctx context.Context, method, path string, in any) (Party, error) {
	var p Party
	err := c.account.call(ctx, call{method: method, path: path, in: in}, &p)
	return p, err
}

// ForParty returns a session.Matchmaking for a party that the player leads, such as
// for session.FindMatch. Only StartMatchmaking differs: it matches all members.
// Players must be the leader alone, because the other members provide their
// attributes with ChangeMembership, and must have set Ready within the last minute.
// If one has not, the error is ErrConflict with the Problem.Code party-not-ready. The
// other members receive the ticket from FollowParty and follow it with Track.
func (c *Client) ForParty(partyID string) session.Matchmaking { return leader{c, partyID} }

type leader struct {
	*Client
	partyID string
}

// StartMatchmaking implements session.Matchmaking.
func (l leader) StartMatchmaking(ctx context.Context, r session.MatchRequest) (session.Ticket, error) {
	return l.start(ctx, r, l.partyID)
}
