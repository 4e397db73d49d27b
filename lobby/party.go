package lobby

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/internal/store"
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

// IsReady reports whether the member declared to be ready within the last minute.
func (m *PartyMember) IsReady(now time.Time) bool {
	return !m.Ready.IsZero() && now.Sub(m.Ready) <= readyFor
}

func (m *PartyMember) sent() map[string]JSON {
	var sent map[string]JSON
	if m.Attributes != "" && json.Unmarshal([]byte(m.Attributes), &sent) != nil {
		return nil
	}
	return sent
}

// Parties are the parties of players.
type Parties struct {
	*core
	rows    *store.Table[Party]
	byCode  *store.Index[Party]
	of      *store.Index[Party] // by member
	expires *store.DueIndex[Party]
	act     *store.Command[partyArgs, *Party]
}

func (s *Parties) register() {
	s.rows = store.NewTable(s.st, store.TableSpec[Party]{Name: "play_party", Key: func(p *Party) string { return p.ID }})
	s.byCode = store.NewIndex(s.rows, "code", func(p *Party, emit func(string)) { emit(p.Code) })
	s.of = store.NewIndex(s.rows, "player", func(p *Party, emit func(string)) {
		for _, m := range p.Members {
			emit(m.PlayerID)
		}
	})
	s.expires = store.NewDueIndex(s.rows, "expires", func(p *Party) time.Time { return p.Expires })
	s.act = store.NewCommand(s.st, "play.party", s.runParty)
}

// Party returns a party that the player is in. Errors: NotFound.
func (s *Parties) Party(player, id string) (*Party, error) {
	p := s.rows.Get(s.st.View(), id)
	if p == nil || !p.has(player) {
		return nil, refuse(NotFound, "you are in no such party")
	}
	return p, nil
}

// Of returns the party that a player is in, or nil.
func (s *Parties) Of(r store.Reader, player string) *Party { return s.of.First(r, player) }

// Create creates a party for a matchmaker, which its creator leads. most limits its
// players; 0 means the matchmaker's limit.
func (s *Parties) Create(ctx context.Context, player, matchmaker string, most int64) (*Party, error) {
	m, err := s.catalog.matchmaker(matchmaker)
	if err != nil {
		return nil, err
	}
	p := Party{Matchmaker: m.Name, Max: m.MaxParty}
	if most > 0 {
		p.Max = min(p.Max, int(min(most, mostParty)))
	}
	return s.act.Do(ctx, partyArgs{Do: partyCreate, By: player, New: p})
}

// Join adds a player to the party with a code.
func (s *Parties) Join(ctx context.Context, player, code string) (*Party, error) {
	return s.act.Do(ctx, partyArgs{Do: partyJoin, By: player, Code: strings.ToUpper(code)})
}

// Change replaces what a member contributes to the party's next ticket: whether they are
// ready, and the attributes and latencies (milliseconds by location) of their client.
func (s *Parties) Change(ctx context.Context, player, id string, ready bool, attributes map[string]JSON, latency map[string]float64) (*Party, error) {
	if len(latency) > MostSamples {
		return nil, refuse(LatencyRejected, "latency_ms: at most 64 locations")
	}
	m := PartyMember{Latency: latency}
	if ready {
		m.Ready = time.Now() // the command sets the actual time
	}
	if len(attributes) > 0 {
		text, err := json.Marshal(attributes, json.Deterministic(true))
		if err != nil {
			return nil, err
		}
		m.Attributes = string(text)
	}
	return s.act.Do(ctx, partyArgs{Do: partyChange, By: player, Party: id, Member: m})
}

// Leave removes a member. Only the leader may remove another player.
func (s *Parties) Leave(ctx context.Context, player, id, member string) error {
	_, err := s.act.Do(ctx, partyArgs{Do: partyLeave, By: player, Party: id, Target: member})
	return err
}

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

func (s *Parties) runParty(tx *store.Tx, a partyArgs) (*Party, error) {
	if a.Do == partyCreate {
		return s.create(tx, a)
	}
	old := s.rows.Get(tx, a.Party)
	if a.Do == partyJoin {
		old = s.byCode.First(tx, a.Code)
	}
	if old == nil || a.Do != partyJoin && !old.has(a.By) {
		return nil, refuse(NotFound, "you are in no such party")
	}
	p := *old
	p.Members = slices.Clone(old.Members)
	if err := s.apply(tx, &p, a); err != nil {
		return nil, err
	}
	s.notify(tx, old.players()) // includes a member who has left
	if len(p.Members) == 0 {
		s.rows.Delete(tx, p.ID)
		return &p, nil
	}
	s.put(tx, &p)
	return &p, nil
}

// put writes a changed party, and notifies the watchers of its members.
func (s *Parties) put(tx *store.Tx, p *Party) {
	p.Change, p.Expires = tx.ID(""), tx.Now().Add(partyKept)
	s.rows.Put(tx, p)
	s.notify(tx, p.players())
}

func (s *Parties) create(tx *store.Tx, a partyArgs) (*Party, error) {
	p := a.New
	p.ID, p.Leader, p.Members = tx.ID(""), a.By, []PartyMember{{PlayerID: a.By}}
	if err := s.alone(tx, a.By); err != nil {
		return nil, err
	}
	for p.Code == "" || s.byCode.First(tx, p.Code) != nil {
		code := make([]byte, codeLength)
		for i := range code {
			code[i] = codeLetter[tx.Rand().IntN(len(codeLetter))]
		}
		p.Code = string(code)
	}
	s.put(tx, &p)
	return &p, nil
}

func (s *Parties) alone(tx *store.Tx, player string) error {
	if old := s.of.First(tx, player); old != nil {
		return refuse(AlreadyJoined, "you are in party "+old.ID+"; leave it first")
	}
	return nil
}

// apply carries out the action on p, which is a copy of the party.
func (s *Parties) apply(tx *store.Tx, p *Party, a partyArgs) error {
	switch a.Do {
	case partyJoin:
		return s.join(tx, p, a.By)
	case partyChange:
		m := p.member(a.By)
		*m = a.Member
		m.PlayerID = a.By
		if !m.Ready.IsZero() {
			m.Ready = tx.Now()
		}
	case partyLeave:
		if a.Target != a.By && p.Leader != a.By {
			return refuse(NotLeader, "only the leader puts others out")
		}
		if !p.has(a.Target) {
			return refuse(NotFound, "there is no such member")
		}
		p.Members = slices.DeleteFunc(p.Members, func(m PartyMember) bool { return m.PlayerID == a.Target })
		if len(p.Members) > 0 && !p.has(p.Leader) {
			p.Leader = p.Members[0].PlayerID
		}
	}
	return nil
}

func (s *Parties) join(tx *store.Tx, p *Party, player string) error {
	switch {
	case p.has(player):
		return nil
	case len(p.Members) >= p.Max:
		return refuse(PartyFull, "the party has its players")
	}
	if err := s.alone(tx, player); err != nil {
		return err
	}
	p.Members = append(p.Members, PartyMember{PlayerID: player})
	return nil
}

// useConsent clears the members' consent, which a ticket uses up: each match needs a new
// one. It returns an error if the party has changed since its members agreed.
func (s *Parties) useConsent(tx *store.Tx, party, agreed string) error {
	old := s.rows.Get(tx, party)
	if old == nil || old.Change != agreed {
		return refuse(PartyNotReady, "the party has just changed; see who is ready and ask again")
	}
	p := *old
	p.Members = slices.Clone(old.Members)
	for i := range p.Members {
		p.Members[i].Ready = time.Time{}
	}
	s.put(tx, &p)
	return nil
}

func (s *Parties) expel(tx *store.Tx, player string) error {
	p := s.of.First(tx, player)
	if p == nil {
		return nil
	}
	_, err := s.runParty(tx, partyArgs{Do: partyLeave, Party: p.ID, By: player, Target: player})
	return err
}
