package compute

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/hex"
	"strings"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// TokenLife bounds how long a join token may be good.
const (
	DefaultJoinTokenLife = time.Hour
	LongestJoinTokenLife = 24 * time.Hour
)

// CreateJoinToken makes a token with which one machine may join a location, once.
// Life 0 means an hour. Errors: InvalidRequest (unknown location, life).
func (s *Service) CreateJoinToken(ctx context.Context, location string, life time.Duration) (token string, expires time.Time, err error) {
	if life == 0 {
		life = DefaultJoinTokenLife
	}
	if life < 0 || life > LongestJoinTokenLife {
		return "", time.Time{}, fault.Invalid("life: %s is not between 0 and %s", life, LongestJoinTokenLife)
	}
	token = "join-" + newSecret()
	row, err := s.cmd.joinToken.Do(ctx, tokenArgs{hash(token), location, life})
	if err != nil {
		return "", time.Time{}, err
	}
	return token, row.Expires, nil
}

type tokenArgs struct {
	Hash, Location string
	Life           time.Duration
}

func (s *Service) runJoinToken(tx *store.Tx, a tokenArgs) (*joinToken, error) {
	if !s.fleets.Known(tx, a.Location) {
		return nil, fault.Invalid("location: %q does not exist; create it with CreateLocation", a.Location)
	}
	for t := range s.t.tokens.All(tx) { // few, and none is left behind
		if !tx.Now().Before(t.Expires) {
			s.t.tokens.Delete(tx, t.Hash)
		}
	}
	t := &joinToken{Hash: a.Hash, Location: a.Location, Expires: tx.Now().Add(a.Life)}
	s.t.tokens.Put(tx, t)
	s.events.Append(tx, event.Event{Code: event.HostTokenMade, Location: a.Location, Message: "A token to join a host was made"})
	return t, nil
}

// JoinInput is what a machine that wants to join shows.
type JoinInput struct {
	Token string
	HostInfo
}

// Joined is the credential of a host; the secret is in this answer and nowhere else.
type Joined struct{ HostID, Secret, Location string }

// Join makes a machine a host of the token's location.
// Errors: Unauthorized (token unknown, used or past), InvalidRequest.
func (s *Service) Join(ctx context.Context, in JoinInput) (Joined, error) {
	secret := newSecret()
	h, err := s.cmd.join.Do(ctx, joinArgs{TokenHash: hash(in.Token), SecretHash: hash(secret), Info: in.HostInfo})
	if err != nil {
		return Joined{}, err
	}
	return Joined{h.ID, secret, h.Location}, nil
}

type joinArgs struct {
	TokenHash, SecretHash string
	Info                  HostInfo
}

func (s *Service) runJoin(tx *store.Tx, a joinArgs) (*Host, error) {
	t := s.t.tokens.Get(tx, a.TokenHash)
	if t == nil || !tx.Now().Before(t.Expires) {
		return nil, fault.New(fault.Unauthorized, "the join token is unknown, was used, or has ended; make a new one")
	}
	if err := a.Info.check(); err != nil {
		return nil, err
	}
	s.t.tokens.Delete(tx, t.Hash)
	h := &Host{ID: tx.ID("host-"), Location: t.Location, SecretHash: a.SecretHash, Joined: tx.Now()}
	h.describe(a.Info)
	s.t.hosts.Put(tx, h)
	s.recordHost(tx, event.HostJoined, h, "")
	return h, nil
}

// check holds what a machine says of itself to what can be.
func (i HostInfo) check() error {
	switch {
	case i.CPUMillis <= 0 || i.MemoryMiB <= 0:
		return fault.Invalid("CPUMillis and MemoryMiB: what the host offers must be above 0")
	case i.PortFrom < 1 || i.PortTo < i.PortFrom || i.PortTo > 60000:
		return fault.Invalid("PortFrom and PortTo: %d to %d is no range within 1 to 60000", i.PortFrom, i.PortTo)
	case i.IPAddress == "" && i.DNSName == "":
		return fault.Invalid("IPAddress or DNSName: one of them is required; players connect to it")
	}
	return nil
}

// AuthenticateHost checks the credential of a host's agent. Errors: Unauthorized.
func (s *Service) AuthenticateHost(hostID, secret string) error {
	want := strings.Repeat("0", sha256.Size*2) // so that an unknown host takes as long
	h := s.t.hosts.Get(s.st.View(), hostID)
	if h != nil {
		want = h.SecretHash
	}
	if subtle.ConstantTimeCompare([]byte(hash(secret)), []byte(want)) != 1 || h == nil {
		return fault.New(fault.Unauthorized, "the host is not known, or its secret is wrong")
	}
	return nil
}

// RemoveHost forgets a host; what runs there ends. Errors: NotFound.
func (s *Service) RemoveHost(ctx context.Context, hostID string) error {
	_, err := s.cmd.removeHost.Do(ctx, hostID)
	return err
}

func (s *Service) runRemoveHost(tx *store.Tx, hostID string) (struct{}, error) {
	h := s.t.hosts.Get(tx, hostID)
	if h == nil {
		return struct{}{}, fault.Missing("host %s does not exist", hostID)
	}
	s.loseInstances(tx, h, "host "+h.ID+" was removed")
	s.t.hosts.Delete(tx, h.ID)
	s.recordHost(tx, event.HostRemoved, h, "")
	s.assign(tx, h.ID)
	return struct{}{}, nil
}

func (s *Service) recordHost(tx *store.Tx, code event.Code, h *Host, text string) {
	s.events.Append(tx, event.Event{Code: code, Location: h.Location, Resource: h.ID, Message: text})
}

// newSecret makes 256 bits of chance as 52 letters and digits.
func newSecret() string {
	b := make([]byte, 32)
	rand.Read(b)
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
}

func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
