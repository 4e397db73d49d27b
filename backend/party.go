package backend

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// Party is a group of players who want to be matched together. Each member agrees for
// themselves: no one else can put a player on a ticket.
type Party struct {
	ID         string        `json:"id"`
	Code       string        `json:"code"`
	Leader     string        `json:"leader"`
	Matchmaker string        `json:"matchmaker"`
	Max        int           `json:"max"`
	Members    []PartyMember `json:"members"` // in order of joining
	Change     string        `json:"change"`
	Expires    time.Time     `json:"expires"`
}

// PartyMember is a player of a party and what they contribute.
type PartyMember struct {
	PlayerID   string             `json:"player_id"`
	Ready      time.Time          `json:"ready,omitzero"`
	Attributes string             `json:"attributes,omitzero"` // JSON text
	Latency    map[string]float64 `json:"latency,omitzero"`
}

const (
	partyKept  = 30 * time.Minute // since the last change
	readyFor   = time.Minute
	codeLength = 6
	codeLetter = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789" // without letters that look alike
)

// partyAction is what a member does.
type partyAction string

const (
	partyCreate partyAction = "create"
	partyJoin   partyAction = "join"
	partyChange partyAction = "change"
	partyLeave  partyAction = "leave"
)

type partyArgs struct {
	Do     partyAction
	Party  string // id
	Code   string // of a join
	By     string // the player who acts
	Target string // of a leave
	New    Party  // of a create
	Member PartyMember
}

func (b *Backend) runParty(tx *store.Tx, a partyArgs) (*Party, error) {
	if a.Do == partyCreate {
		return b.createdParty(tx, a)
	}
	old := b.t.parties.Get(tx, a.Party)
	if a.Do == partyJoin {
		old = b.t.partyByCode.First(tx, a.Code)
	}
	if old == nil || a.Do != partyJoin && !old.has(a.By) {
		return nil, refuse("not-found", "you are in no such party")
	}
	p := *old
	p.Members = slices.Clone(old.Members)
	told := old.players()
	if err := b.actInParty(tx, &p, a); err != nil {
		return nil, err
	}
	tx.OnCommit(func() { b.hub.wake(told) }) // includes a member who has left
	if len(p.Members) == 0 {
		b.t.parties.Delete(tx, p.ID)
		return &p, nil
	}
	b.putParty(tx, &p)
	return &p, nil
}

// putParty writes a changed party, and wakes what waits for its members.
func (b *Backend) putParty(tx *store.Tx, p *Party) {
	p.Change, p.Expires = tx.ID(""), tx.Now().Add(partyKept)
	b.t.parties.Put(tx, p)
	members := p.players()
	tx.OnCommit(func() { b.hub.wake(members) })
}

func (b *Backend) createdParty(tx *store.Tx, a partyArgs) (*Party, error) {
	p := a.New
	p.ID, p.Leader, p.Members = tx.ID(""), a.By, []PartyMember{{PlayerID: a.By}}
	if err := b.alone(tx, a.By); err != nil {
		return nil, err
	}
	for p.Code == "" || b.t.partyByCode.First(tx, p.Code) != nil {
		code := make([]byte, codeLength)
		for i := range code {
			code[i] = codeLetter[tx.Rand().IntN(len(codeLetter))]
		}
		p.Code = string(code)
	}
	b.putParty(tx, &p)
	return &p, nil
}

// alone refuses a player who is in a party.
func (b *Backend) alone(tx *store.Tx, player string) error {
	if old := b.t.partiesOf.First(tx, player); old != nil {
		return refuse("already-joined", "you are in party "+old.ID+"; leave it first")
	}
	return nil
}

// actInParty changes a copy of the party.
func (b *Backend) actInParty(tx *store.Tx, p *Party, a partyArgs) error {
	switch a.Do {
	case partyJoin:
		return b.joinedParty(tx, p, a.By)
	case partyChange:
		m := p.member(a.By)
		*m = a.Member
		m.PlayerID = a.By
		if !m.Ready.IsZero() {
			m.Ready = tx.Now()
		}
	case partyLeave:
		if a.Target != a.By && p.Leader != a.By {
			return refuse("not-leader", "only the leader puts others out")
		}
		if !p.has(a.Target) {
			return refuse("not-found", "there is no such member")
		}
		p.Members = slices.DeleteFunc(p.Members, func(m PartyMember) bool { return m.PlayerID == a.Target })
		if len(p.Members) > 0 && !p.has(p.Leader) {
			p.Leader = p.Members[0].PlayerID
		}
	}
	return nil
}

func (b *Backend) joinedParty(tx *store.Tx, p *Party, player string) error {
	switch {
	case p.has(player):
		return nil
	case len(p.Members) >= p.Max:
		return refuse("party-full", "the party has its players")
	}
	if err := b.alone(tx, player); err != nil {
		return err
	}
	p.Members = append(p.Members, PartyMember{PlayerID: player})
	return nil
}

func (p *Party) has(player string) bool { return p.member(player) != nil }

func (p *Party) member(player string) *PartyMember {
	for i := range p.Members {
		if p.Members[i].PlayerID == player {
			return &p.Members[i]
		}
	}
	return nil
}

func (p *Party) players() []string {
	all := make([]string, len(p.Members))
	for i, m := range p.Members {
		all[i] = m.PlayerID
	}
	return all
}

func (m *PartyMember) ready(now time.Time) bool {
	return !m.Ready.IsZero() && now.Sub(m.Ready) <= readyFor
}

// partyPlayers returns the players of a party's ticket, the leader first, and the
// party's change at which they agreed.
func (b *Backend) partyPlayers(m *Matchmaker, leader string, in *protocol.TicketRequest) (all []MatchPlayer, agreed string, err error) {
	p := b.t.parties.Get(b.st.View(), in.PartyID)
	switch {
	case p == nil || !p.has(leader):
		return nil, "", refuse("not-found", "you are in no such party")
	case p.Leader != leader:
		return nil, "", refuse("not-leader", "only the leader asks for a match")
	case p.Matchmaker != m.Name:
		return nil, "", refuse("validation-failed", "matchmaker: the party was made for "+p.Matchmaker)
	case len(p.Members) < m.MinParty || len(p.Members) > m.MaxParty:
		return nil, "", refuse("party-not-ready", "the party does not have the number of players that "+m.Name+" matches")
	}
	now := time.Now()
	all = make([]MatchPlayer, 0, len(p.Members))
	for i := range p.Members {
		member := &p.Members[i]
		sent, latency := member.sent(), member.Latency
		if member.PlayerID == leader {
			if in.Attributes != nil {
				sent = in.Attributes
			}
			if in.LatencyMs != nil {
				latency = in.LatencyMs
			}
		} else if !member.ready(now) {
			return nil, "", refuse("party-not-ready", "not every member has said to be ready within the last minute")
		}
		player, err := b.matchPlayer(m, member.PlayerID, sent, latency)
		if err != nil {
			return nil, "", err
		}
		all = append(all, player)
	}
	slices.SortStableFunc(all, func(x, y MatchPlayer) int { return order(x.ID == leader, y.ID == leader) })
	return all, p.Change, nil
}

// order compares two flags, true first.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// sent returns the attributes that a member's client sent.
func (m *PartyMember) sent() map[string]protocol.JSON {
	var sent map[string]protocol.JSON
	if m.Attributes != "" && json.Unmarshal([]byte(m.Attributes), &sent) != nil {
		return nil
	}
	return sent
}

// useConsent clears the consent that a ticket uses up: each match needs a new one. It
// refuses if the party has changed since its members agreed.
func (b *Backend) useConsent(tx *store.Tx, party, agreed string) error {
	old := b.t.parties.Get(tx, party)
	if old == nil || old.Change != agreed {
		return refuse("party-not-ready", "the party has just changed; see who is ready and ask again")
	}
	p := *old
	p.Members = slices.Clone(old.Members)
	for i := range p.Members {
		p.Members[i].Ready = time.Time{}
	}
	b.putParty(tx, &p)
	return nil
}
