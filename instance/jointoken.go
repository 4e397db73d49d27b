package instance

import (
	"context"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// Limits of join tokens.
const (
	DefaultJoinTokenLife = time.Hour
	LongestJoinTokenLife = 366 * 24 * time.Hour
	MostJoinTokenUses    = 100_000
	maxJoinTokens        = 1000 // that have not expired
	maxJoinTokenName     = 128
	maxJoinTokenNetworks = 32
)

// JoinToken lets machines join a location. The token's secret is not stored.
type JoinToken struct {
	Hash     string    `json:"hash"`
	Name     string    `json:"name,omitzero"`
	Location string    `json:"location"`
	Networks []string  `json:"networks,omitzero"` // CIDR; only machines in these may use it; none: any machine
	MaxUses  int       `json:"max_uses,omitzero"` // 0 means 1
	Uses     int       `json:"uses,omitzero"`
	Created  time.Time `json:"created,omitzero"`
	Expires  time.Time `json:"expires"`
	LastUsed time.Time `json:"last_used,omitzero"`
}

// ID returns a name of the token that does not reveal it.
func (t *JoinToken) ID() string { return "jt-" + t.Hash[:16] }

// title returns a name of the token for people.
func (t *JoinToken) title() string {
	if t.Name == "" {
		return t.ID()
	}
	return fmt.Sprintf("%s (%s)", t.ID(), t.Name)
}

func (t *JoinToken) maxUses() int { return max(t.MaxUses, 1) }

// Left returns how many more machines may join with the token before it expires.
func (t *JoinToken) Left() int { return t.maxUses() - t.Uses }

// valid reports whether a machine may join with the token now.
func (t *JoinToken) valid(now time.Time) bool { return now.Before(t.Expires) && t.Left() > 0 }

// admits reports whether a machine at an address may use the token.
func (t *JoinToken) admits(from netip.Addr) bool {
	return len(t.Networks) == 0 || slices.ContainsFunc(t.Networks, func(text string) bool {
		network, err := netip.ParsePrefix(text)
		return err == nil && network.Contains(from.Unmap())
	})
}

// tokens holds the join tokens.
type tokens struct {
	*shared
	rows   *store.Table[JoinToken]
	create *store.Command[tokenArgs, *JoinToken]

	// RevokeJoinToken revokes the token with an id; hosts that joined with it stay.
	// Errors: NotFound.
	RevokeJoinToken *store.Action[string]
}

func newTokens(sh *shared) *tokens {
	ts, st := &tokens{shared: sh}, sh.st
	ts.rows = store.NewTable(st, store.TableSpec[JoinToken]{Name: "join_token", Key: func(t *JoinToken) string { return t.Hash }})
	ts.create = store.NewCommand(st, "host.join_token", ts.runJoinToken)
	ts.RevokeJoinToken = store.NewAction(st, "host.revoke_join_token", ts.runRevokeJoinToken)
	return ts
}

// use counts a use of a token by a machine at an address, and returns the updated
// token. Errors: Unauthorized.
func (ts *tokens) use(tx *store.Tx, tokenHash string, from netip.Addr) (*JoinToken, error) {
	t := ts.rows.Get(tx, tokenHash)
	if t == nil || !t.valid(tx.Now()) {
		return nil, fault.New(fault.Unauthorized, "the join token is unknown, was used as often as it may be, or has ended; make a new one")
	}
	if !t.admits(from) {
		return nil, fault.New(fault.Unauthorized, "the join token %s is for machines of %s, and this request came from %s",
			t.ID(), strings.Join(t.Networks, ", "), from)
	}
	used := *t
	used.Uses, used.LastUsed = t.Uses+1, tx.Now()
	ts.rows.Put(tx, &used)
	return &used, nil
}

// JoinTokenInput says what a join token allows.
type JoinTokenInput struct {
	Name     string        // for people; may be empty
	Location string        // that machines join; required
	Life     time.Duration // until it expires; 0 means an hour
	MaxUses  int           // machines that may join with it; 0 means 1
	Networks []string      // addresses or CIDR networks of the machines; none means any
}

// CreateJoinToken creates a token with which machines may join a location. The
// secret is returned only here; it is not stored.
// Errors: InvalidRequest (unknown location, or a limit exceeded), LimitExceeded.
func (ts *tokens) CreateJoinToken(ctx context.Context, in JoinTokenInput) (secret string, t *JoinToken, err error) {
	if in.Life == 0 {
		in.Life = DefaultJoinTokenLife
	}
	if in.MaxUses == 0 {
		in.MaxUses = 1
	}
	if err := in.check(); err != nil {
		return "", nil, err
	}
	secret = "join-" + newSecret()
	t, err = ts.create.Do(ctx, tokenArgs{hash(secret), in})
	return secret, t, err
}

// check enforces the limits of tokens, and converts the networks to CIDR form.
func (in *JoinTokenInput) check() error {
	switch {
	case in.Life < 0 || in.Life > LongestJoinTokenLife:
		return fault.Invalid("life: %s is not between 0 and %s", in.Life, LongestJoinTokenLife)
	case in.MaxUses < 0 || in.MaxUses > MostJoinTokenUses:
		return fault.Invalid("uses: %d is not between 1 and %d", in.MaxUses, MostJoinTokenUses)
	case len(in.Name) > maxJoinTokenName:
		return fault.Invalid("name: %d bytes; at most %d", len(in.Name), maxJoinTokenName)
	case len(in.Networks) > maxJoinTokenNetworks:
		return fault.Invalid("cidr: %d networks; at most %d", len(in.Networks), maxJoinTokenNetworks)
	}
	networks := make([]string, 0, len(in.Networks))
	for _, text := range in.Networks {
		network, err := netip.ParsePrefix(text)
		if addr, plain := netip.ParseAddr(text); err != nil && plain == nil {
			network, err = addr.Prefix(addr.BitLen())
		}
		if err != nil {
			return fault.Invalid("cidr: %q is neither an address nor a network such as 10.0.0.0/16", text)
		}
		networks = append(networks, network.Masked().String())
	}
	in.Networks = networks
	return nil
}

type tokenArgs struct {
	Hash string
	In   JoinTokenInput
}

func (ts *tokens) runJoinToken(tx *store.Tx, a tokenArgs) (*JoinToken, error) {
	if !ts.Fleets.Locations.Known(tx, a.In.Location) {
		return nil, fault.Invalid("location: %q does not exist; create it with CreateLocation", a.In.Location)
	}
	valid := 0
	for range ts.JoinTokens(tx, tx.Now()) {
		valid++
	}
	if valid >= maxJoinTokens {
		return nil, fault.New(fault.LimitExceeded, "there are %d join tokens, which is the limit; revoke some", valid)
	}
	for t := range ts.rows.All(tx) { // at most maxJoinTokens, plus expired ones
		if !tx.Now().Before(t.Expires) {
			ts.rows.Delete(tx, t.Hash)
		}
	}
	t := &JoinToken{
		Hash: a.Hash, Name: a.In.Name, Location: a.In.Location, Networks: a.In.Networks, MaxUses: a.In.MaxUses,
		Created: tx.Now(), Expires: tx.Now().Add(a.In.Life),
	}
	ts.rows.Put(tx, t)
	ts.Events.Append(tx, event.Event{
		Code: event.HostTokenMade, Location: t.Location, Resource: t.ID(),
		Message: fmt.Sprintf("Join token %s was made for %d machines, until %s", t.title(), t.maxUses(), t.Expires.UTC().Format(time.RFC3339)),
	})
	return t, nil
}

// JoinTokens returns the tokens that have not expired, including used-up ones, in no
// particular order.
func (ts *tokens) JoinTokens(r store.Reader, now time.Time) iter.Seq[*JoinToken] {
	return func(yield func(*JoinToken) bool) {
		for t := range ts.rows.All(r) {
			if now.Before(t.Expires) && !yield(t) {
				return
			}
		}
	}
}

func (ts *tokens) runRevokeJoinToken(tx *store.Tx, id string) error {
	for t := range ts.JoinTokens(tx, tx.Now()) {
		if t.ID() != id {
			continue
		}
		ts.rows.Delete(tx, t.Hash)
		ts.Events.Append(tx, event.Event{
			Code: event.HostTokenRevoked, Location: t.Location, Resource: id,
			Message: fmt.Sprintf("Join token %s was revoked after %d uses", t.title(), t.Uses),
		})
		return nil
	}
	return fault.Missing("join token %s does not exist, or has expired", id)
}
