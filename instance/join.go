package instance

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/address"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// JoinInput is the request of a machine to join.
type JoinInput struct {
	Token string
	From  netip.Addr // source of its request; used only by tokens bound to networks
	HostInfo
}

// Joined is the credential of a host. The secret is returned only here; it is not stored.
type Joined struct{ HostID, Secret, Location string }

// Join makes a machine a host of the token's location.
// Errors: Unauthorized (token unknown, used up, expired, or for other networks), InvalidRequest.
func (hs *hosts) Join(ctx context.Context, in JoinInput) (Joined, error) {
	secret := newSecret()
	h, err := hs.join.Do(ctx, joinArgs{TokenHash: hash(in.Token), SecretHash: hash(secret), From: in.From, Info: in.HostInfo})
	if err != nil {
		return Joined{}, err
	}
	return Joined{h.ID, secret, h.Location}, nil
}

type joinArgs struct {
	TokenHash, SecretHash string
	From                  netip.Addr
	Info                  HostInfo
}

func (hs *hosts) runJoin(tx *store.Tx, a joinArgs) (*Host, error) {
	t, err := hs.tokens.use(tx, a.TokenHash, a.From)
	if err != nil {
		return nil, err
	}
	if err := a.Info.check(); err != nil {
		return nil, err
	}
	h := &Host{ID: tx.ID("host-"), Location: t.Location, SecretHash: a.SecretHash, Joined: tx.Now(), JoinToken: t.ID(), JoinedAs: a.Info.DNSName}
	h.describe(a.Info)
	hs.rows.Put(tx, h)
	hs.record(tx, event.HostJoined, h, fmt.Sprintf("with join token %s, use %d of %d", t.title(), t.Uses, t.maxUses()))
	return h, nil
}

// check returns an error if the machine's description of itself is invalid.
func (i HostInfo) check() error {
	switch {
	case i.CPUMillis <= 0 || i.MemoryMiB <= 0:
		return fault.Invalid("CPUMillis and MemoryMiB: what the host offers must be above 0")
	case i.PortFrom < 1 || i.PortTo < i.PortFrom || i.PortTo > 60000:
		return fault.Invalid("PortFrom and PortTo: %d to %d is no range within 1 to 60000", i.PortFrom, i.PortTo)
	case i.IPAddress == "" && i.DNSName == "":
		return fault.Invalid("IPAddress or DNSName: one of them is required; players connect to it")
	case i.IPv6Address != "" && (!address.IsIPv6(i.IPv6Address) || i.IPAddress == "" || address.IsIPv6(i.IPAddress)):
		return fault.Invalid("IPv6Address: it must be an IPv6 address beside the IPv4 address in IPAddress; an only address belongs in IPAddress")
	}
	for _, is := range []struct{ member, text string }{{"IPAddress", i.IPAddress}, {"IPv6Address", i.IPv6Address}} {
		if is.text == "" {
			continue
		}
		if err := address.Check(is.text); err != nil {
			return fault.Invalid("%s: %v (--ip of the agent)", is.member, err)
		}
	}
	if err := address.CheckHost(i.DNSName); err != nil {
		return fault.Invalid("DNSName: %v (--dns of the agent)", err)
	}
	return nil
}

// newSecret returns 256 random bits as 52 letters and digits.
func newSecret() string {
	b := make([]byte, 32)
	rand.Read(b)
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
}

func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
