package player

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// Party is players who want to be matched together. A player is in one at a time.
type Party = protocol.Party

// PartyMember is who is in a party. Ready is as of the moment of the picture.
type PartyMember = protocol.PartyMember

// CreateParty makes a party that a matchmaker shall match, of at most so many
// players; 0 leaves that to the matchmaker. The player leads it; its Code lets others
// in. It ends half an hour after its last change. Errors: ErrNotFound (the
// matchmaker), ErrConflict where the player is in a party.
func (c *Client) CreateParty(ctx context.Context, matchmaker string, most int) (Party, error) {
	return c.party(ctx, http.MethodPost, "/parties", &protocol.PartyRequest{Matchmaker: matchmaker, Max: int64(most)})
}

// JoinParty enters a party by its code. Errors: ErrNotFound, ErrFull, ErrConflict
// where the player is in another party.
func (c *Client) JoinParty(ctx context.Context, code string) (Party, error) {
	return c.party(ctx, http.MethodPost, "/parties/join", &protocol.PartyJoin{Code: code})
}

// Party gives a party that the player is in. Errors: ErrNotFound.
func (c *Client) Party(ctx context.Context, partyID string) (Party, error) {
	return c.party(ctx, http.MethodGet, partyPath(partyID), nil)
}

// Membership is what a member says of themselves.
type Membership struct {
	Ready bool // agrees to be matched: good for a minute, and for one ticket
	// Attributes and Latency are as in session.Player.
	Attributes map[string]session.Attribute
	Latency    map[string]time.Duration
}

// ChangeMembership says what the own player brings to a party; it replaces what was
// said before. Errors: ErrNotFound.
func (c *Client) ChangeMembership(ctx context.Context, partyID string, m Membership) (Party, error) {
	attributes, err := attributesOut(m.Attributes)
	if err != nil {
		return Party{}, err
	}
	in := &protocol.MemberChange{Ready: m.Ready, Attributes: attributes, LatencyMs: latencyOut(m.Latency)}
	return c.party(ctx, http.MethodPut, partyPath(partyID)+"/members/me", in)
}

// LeaveParty leaves; the member who came next after a leader leads from then on.
// Errors: ErrNotFound.
func (c *Client) LeaveParty(ctx context.Context, partyID string) error {
	return c.PutOut(ctx, partyID, "me")
}

// PutOut puts a member out of a party that the player leads. Errors: ErrNotFound,
// ErrUnauthorized where somebody else leads.
func (c *Client) PutOut(ctx context.Context, partyID, playerID string) error {
	return c.call(ctx, call{method: http.MethodDelete, path: partyPath(partyID) + "/members/" + url.PathEscape(playerID)}, nil)
}

func partyPath(id string) string { return "/parties/" + url.PathEscape(id) }

func (c *Client) party(ctx context.Context, method, path string, in any) (Party, error) {
	r := call{method: method, path: path}
	if in != nil {
		r.in = in
	}
	var p Party
	err := c.call(ctx, r, &p)
	return p, err
}

// ForParty is session.Matchmaking for a party that the player leads, such as for
// session.FindMatch. It differs in StartMatchmaking, which matches all members:
// Players is the leader alone, since each other member has said by ChangeMembership
// what they bring and, within the last minute, that they are ready. Where somebody
// is not, it gives ErrConflict, and the Problem's Code is party-not-ready. The other
// members learn the ticket from FollowParty, and follow it by Track.
func (c *Client) ForParty(partyID string) session.Matchmaking { return leader{c, partyID} }

type leader struct {
	*Client
	partyID string
}

// StartMatchmaking implements session.Matchmaking.
func (l leader) StartMatchmaking(ctx context.Context, r session.MatchRequest) (session.Ticket, error) {
	return l.start(ctx, r, l.partyID)
}
