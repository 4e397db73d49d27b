package instance

import (
	"context"
	"fmt"
	"iter"
	"net/netip"
	"slices"
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
	maxJoinTokens        = 1000 // that are valid at a time
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

// JoinTokenInput says what a join token allows.
type JoinTokenInput struct {
	Name     string        // for people; may be empty
	Location string        // that machines join; required
	Life     time.Duration // until it expires; 0 means an hour
	MaxUses  int           // machines that may join with it; 0 means 1
	Networks []string      // addresses or CIDR networks of the machines; none means any
}

// CreateJoinToken creates a token with which machines may join a location. The
// secret is in this answer and nowhere else.
// Errors: InvalidRequest (unknown location, or a limit exceeded), LimitExceeded.
func (s *Service) CreateJoinToken(ctx context.Context, in JoinTokenInput) (secret string, t *JoinToken, err error) {
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
	t, err = s.cmd.joinToken.Do(ctx, tokenArgs{hash(secret), in})
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

func (s *Service) runJoinToken(tx *store.Tx, a tokenArgs) (*JoinToken, error) {
	if !s.fleets.Locations.Known(tx, a.In.Location) {
		return nil, fault.Invalid("location: %q does not exist; create it with CreateLocation", a.In.Location)
	}
	valid := 0
	for range s.JoinTokens(tx, tx.Now()) {
		valid++
	}
	if valid >= maxJoinTokens {
		return nil, fault.New(fault.LimitExceeded, "there are %d join tokens, which is the limit; revoke some", valid)
	}
	for t := range s.t.tokens.All(tx) { // at most maxJoinTokens, plus expired ones
		if !tx.Now().Before(t.Expires) {
			s.t.tokens.Delete(tx, t.Hash)
		}
	}
	t := &JoinToken{
		Hash: a.Hash, Name: a.In.Name, Location: a.In.Location, Networks: a.In.Networks, MaxUses: a.In.MaxUses,
		Created: tx.Now(), Expires: tx.Now().Add(a.In.Life),
	}
	s.t.tokens.Put(tx, t)
	s.events.Append(tx, event.Event{
		Code: event.HostTokenMade, Location: t.Location, Resource: t.ID(),
		Message: fmt.Sprintf("Join token %s was made for %d machines, until %s", t.title(), t.maxUses(), t.Expires.UTC().Format(time.RFC3339)),
	})
	return t, nil
}

// JoinTokens returns the tokens that have not expired, including used-up ones, in no
// particular order.
func (s *Service) JoinTokens(r store.Reader, now time.Time) iter.Seq[*JoinToken] {
	return func(yield func(*JoinToken) bool) {
		for t := range s.t.tokens.All(r) {
			if now.Before(t.Expires) && !yield(t) {
				return
			}
		}
	}
}

// RevokeJoinToken revokes a token; hosts that joined with it stay. Errors: NotFound.
func (s *Service) RevokeJoinToken(ctx context.Context, id string) error {
	_, err := s.cmd.revokeToken.Do(ctx, id)
	return err
}

func (s *Service) runRevokeJoinToken(tx *store.Tx, id string) (struct{}, error) {
	for t := range s.JoinTokens(tx, tx.Now()) {
		if t.ID() != id {
			continue
		}
		s.t.tokens.Delete(tx, t.Hash)
		s.events.Append(tx, event.Event{
			Code: event.HostTokenRevoked, Location: t.Location, Resource: id,
			Message: fmt.Sprintf("Join token %s was revoked after %d uses", t.title(), t.Uses),
		})
		return struct{}{}, nil
	}
	return struct{}{}, fault.Missing("join token %s does not exist, or has expired", id)
}
