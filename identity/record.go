package identity

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// Record is a player as it moves to another deployment: the account, its external accounts
// and its data. It contains no logins, which the keys of one deployment protect, and no secret
// but the SHA-256 of a guest's.
type Record struct {
	Player *Player  `json:"player"`
	Links  []*Link  `json:"links,omitempty"`
	Data   []*Datum `json:"data,omitempty"`
}

// MaxRecords is how many records one call may check or add.
const MaxRecords = 500

// Added says what became of records, or would.
type Added struct {
	New      int      `json:"new"`                // players who were not here
	Same     int      `json:"same"`               // players who are here already, just as the record says
	Problems []string `json:"problems,omitempty"` // why records cannot be added, naming the player; then none is
}

// Records moves players between deployments.
type Records struct {
	*rows
	data *Data
	add  *store.Command[[]*Record, Added]
}

func newRecords(r *rows, d *Data) *Records {
	s := &Records{rows: r, data: d}
	s.add = store.NewCommand(s.st, "player.add_records", s.runAdd)
	return s
}

// All yields all players of a snapshot by id, also those who were merged into others and are
// still kept.
func (s *Records) All(r store.Reader) iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		for p := range s.players.table.All(r) {
			if !yield(s.of(r, p)) {
				return
			}
		}
	}
}

func (s *Records) of(r store.Reader, p *Player) *Record {
	return &Record{Player: p, Links: slices.Collect(s.links.of(r, p.ID)), Data: slices.Collect(s.data.of(r, p.ID, ""))}
}

// Check returns what Add would, and changes nothing.
func (s *Records) Check(all []*Record) Added { return s.compare(s.st.View(), all) }

// Add adds players who are not here, all of them or, if there is a problem with one, none. A
// guest counts as just used, so that nobody is removed as idle for a time before the move.
func (s *Records) Add(ctx context.Context, all []*Record) (Added, error) { return s.add.Do(ctx, all) }

func (s *Records) runAdd(tx *store.Tx, all []*Record) (Added, error) {
	found := s.compare(tx, all)
	if len(found.Problems) > 0 {
		return found, nil
	}
	for _, one := range all {
		if s.players.table.Get(tx, one.Player.ID) != nil {
			continue
		}
		p := *one.Player
		p.IdleCheck = tx.Now().Add(s.opts.GuestKeep)
		if len(p.GuestSecret) == 0 || s.opts.GuestKeep < 0 {
			p.IdleCheck = one.Player.IdleCheck
		}
		s.players.table.Put(tx, &p)
		for _, l := range one.Links {
			s.links.table.Put(tx, l)
		}
		for _, d := range one.Data {
			s.data.table.Put(tx, d)
		}
		s.events.Append(tx, event.Event{Code: event.PlayerCreated, Resource: p.ID, Message: "from a bundle"})
	}
	return found, nil
}

// compare compares records with what is here, and with each other.
func (s *Records) compare(r store.Reader, all []*Record) (found Added) {
	players, links := map[string]bool{}, map[string]string{}
	for _, one := range all {
		problem := one.problem()
		if problem == "" && players[one.Player.ID] {
			problem = fmt.Sprintf("player %s: is there twice", one.Player.ID)
		}
		if problem == "" {
			problem = s.taken(r, one, links)
		}
		if problem != "" {
			found.Problems = append(found.Problems, problem)
			continue
		}
		players[one.Player.ID] = true
		have := s.players.table.Get(r, one.Player.ID)
		if have == nil {
			found.New++
		} else if member := one.differs(s.of(r, have)); member != "" {
			found.Problems = append(found.Problems, fmt.Sprintf("player %s: is here already, and %s", one.Player.ID, member))
		} else {
			found.Same++
		}
	}
	return found
}

// taken returns the problem of a record whose external account leads to another player, here or
// in an earlier record, and adds its accounts to links.
func (s *Records) taken(r store.Reader, one *Record, links map[string]string) string {
	for _, l := range one.Links {
		other := links[l.key()]
		if have := s.links.table.Get(r, l.key()); have != nil {
			other = have.PlayerID
		}
		if other != "" && other != one.Player.ID {
			return fmt.Sprintf("player %s: the account %s of %s is linked to player %s", one.Player.ID, l.SubjectHint(), l.Provider, other)
		}
		links[l.key()] = one.Player.ID
	}
	return ""
}

// differs returns in what a record differs from another of the same player apart from what a
// login changes, "" if in nothing.
func (a *Record) differs(b *Record) string {
	player := func(r *Record) any { p := *r.Player; p.IdleCheck = p.Created; return p }
	links := func(r *Record) any {
		out := map[string]Link{}
		for _, l := range r.Links {
			linked := *l
			linked.LastLogin = l.Linked
			out[l.key()] = linked
		}
		return out
	}
	data := func(r *Record) any {
		out := map[string]*Datum{}
		for _, d := range r.Data {
			out[d.id()] = d
		}
		return out
	}
	switch {
	case !sameText(player(a), player(b)):
		return "the account differs"
	case !sameText(links(a), links(b)):
		return "the linked accounts differ"
	case !sameText(data(a), data(b)):
		return "the data differ"
	}
	return ""
}

// sameText reports whether two values are the same as JSON.
func sameText(a, b any) bool {
	x, err := json.Marshal(a, json.Deterministic(true))
	if err != nil {
		return false
	}
	y, err := json.Marshal(b, json.Deterministic(true))
	return err == nil && bytes.Equal(x, y)
}

// playerID is what players' ids look like.
var playerID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// problem returns what is wrong with a record by itself, naming the player and the member, ""
// if nothing is.
func (a *Record) problem() string {
	p := a.Player
	if p == nil || !playerID.MatchString(p.ID) {
		return "a record has no player with an id as Muster makes them"
	}
	bad := func(format string, args ...any) string {
		return fmt.Sprintf("player %s: "+format, append([]any{p.ID}, args...)...)
	}
	switch {
	case p.Created.IsZero():
		return bad("created: is missing")
	case p.DisplayName != "" && !validName(p.DisplayName):
		return bad("display_name: must have %d to %d printable characters and no spaces at its ends", minName, maxName)
	case len(p.GuestSecret) != 0 && len(p.GuestSecret) != sha256.Size:
		return bad("guest_secret: must be the SHA-256 of the secret")
	case p.TokenVersion < 0 || p.DataDeleted < 0:
		return bad("token_version and data_deleted: must not be negative")
	case p.MergedInto != "" && (len(p.GuestSecret) > 0 || len(a.Links) > 0 || p.Purge.IsZero() || p.MergedInto == p.ID || !playerID.MatchString(p.MergedInto)):
		return bad("merged_into: such a player has another player's id there, a time in purge, and nothing to log in with")
	case p.MergedInto == "" && !p.Purge.IsZero():
		return bad("purge: is for players who were merged into others")
	}
	if problem := a.linksProblem(); problem != "" {
		return bad("%s", problem)
	}
	if problem := a.dataProblem(); problem != "" {
		return bad("%s", problem)
	}
	return ""
}

func (a *Record) linksProblem() string {
	providers := map[string]bool{}
	for _, l := range a.Links {
		switch {
		case l == nil || l.PlayerID != a.Player.ID:
			return "links: one is of another player"
		case !providerName.MatchString(l.Provider) || providers[l.Provider]:
			return fmt.Sprintf("links: %.40q is no provider's name, or has two accounts", l.Provider)
		case l.Subject == "" || len(l.Subject) > maxSubject || strings.ContainsFunc(l.Subject, unicode.IsControl):
			return fmt.Sprintf("links: the subject at %s must have 1 to %d bytes without control characters", l.Provider, maxSubject)
		}
		providers[l.Provider] = true
	}
	return ""
}

func (a *Record) dataProblem() string {
	keys, bytes := map[Namespace]int{}, map[Namespace]int{}
	known := map[string]bool{}
	for _, d := range a.Data {
		if d == nil || d.PlayerID != a.Player.ID {
			return "data: one is of another player"
		}
		if err := checkKey(d.Namespace, d.Key); err != nil || known[d.id()] {
			return fmt.Sprintf("data: %.20q, %.70q is no namespace and key, or there twice", d.Namespace, d.Key)
		}
		known[d.id()] = true
		keys[d.Namespace]++
		bytes[d.Namespace] += len(d.Value)
		switch {
		case len(d.Value) > MaxValue || !jsontext.Value(d.Value).IsValid():
			return fmt.Sprintf("data: the value of %s/%s must be JSON of at most %d bytes", d.Namespace, d.Key, MaxValue)
		case d.First < 1 || d.Version < d.First:
			return fmt.Sprintf("data: the versions of %s/%s must be 1 or above, and first not above version", d.Namespace, d.Key)
		case keys[d.Namespace] > MaxKeys || bytes[d.Namespace] > MaxNamespace:
			return fmt.Sprintf("data: namespace %s has more than %d keys or %d bytes", d.Namespace, MaxKeys, MaxNamespace)
		}
	}
	return ""
}
