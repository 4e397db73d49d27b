package instance

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// ErrHostRemoved is the error of AuthenticateHost for the credential of a host that
// was removed.
var ErrHostRemoved = fault.New(fault.Unauthorized, "this host was removed; its machine may join anew with another token")

// AuthenticateHost checks the credential of a host's agent. next reports whether the
// secret is the offered one that is to replace the current one (see SecretKept).
// Errors: Unauthorized, ErrHostRemoved.
func (hs *hosts) AuthenticateHost(hostID, secret string) (next bool, err error) {
	view, shown := hs.st.View(), []byte(hash(secret))
	is := func(want string) bool { return subtle.ConstantTimeCompare(shown, []byte(want)) == 1 }
	if h := hs.rows.Get(view, hostID); h != nil {
		next = h.NextHash != "" && is(h.NextHash)
		if is(h.SecretHash) || next {
			return next, nil
		}
	} else if gone := hs.removed.Get(view, hostID); gone != nil {
		if is(gone.SecretHash) {
			return false, ErrHostRemoved
		}
	} else {
		is(strings.Repeat("0", sha256.Size*2)) // so that an unknown host takes as long
	}
	return false, fault.New(fault.Unauthorized, "the host is not known, or its secret is wrong")
}

func (hs *hosts) runRotateHost(tx *store.Tx, hostID string) error {
	old, err := hs.mustHost(tx, hostID)
	if err != nil || old.Rotating {
		return err
	}
	h := *old
	h.Rotating = true
	hs.rows.Put(tx, &h)
	hs.instances.assign(tx, h.ID)
	return nil
}

// SecretSince returns when the host's current secret was set.
func (h *Host) SecretSince() time.Time {
	if h.SecretSet.IsZero() {
		return h.Joined
	}
	return h.SecretSet
}

// SecretDue reports whether the agent of a host is to be sent a new secret, because
// an operator requested it or the current one is too old.
func (hs *hosts) SecretDue(h *Host, now time.Time) bool {
	return h.Rotating || now.Sub(h.SecretSince()) >= hs.opts.SecretLife
}

// OfferSecret creates a new secret for a host. Both it and the old one are valid
// until SecretKept. Errors: NotFound.
func (hs *hosts) OfferSecret(ctx context.Context, hostID string) (secret string, err error) {
	secret = newSecret()
	err = hs.offerSecret.Do(ctx, secretArgs{hostID, hash(secret)})
	return secret, err
}

type secretArgs struct{ HostID, Hash string }

func (hs *hosts) runOfferSecret(tx *store.Tx, a secretArgs) error {
	old, err := hs.mustHost(tx, a.HostID)
	if err != nil {
		return err
	}
	h := *old
	h.NextHash = a.Hash
	hs.rows.Put(tx, &h)
	return nil
}

// SecretKept records that a host's agent has stored a secret that it was offered: the
// old one is refused from now on. A secret other than the last one offered changes
// nothing. Errors: NotFound.
func (hs *hosts) SecretKept(ctx context.Context, hostID, secret string) error {
	return hs.secretKept.Do(ctx, secretArgs{hostID, hash(secret)})
}

func (hs *hosts) runSecretKept(tx *store.Tx, a secretArgs) error {
	old, err := hs.mustHost(tx, a.HostID)
	if err != nil || old.NextHash != a.Hash {
		return err
	}
	h := *old
	h.SecretHash, h.NextHash, h.SecretSet, h.Rotating = old.NextHash, "", tx.Now(), false
	hs.rows.Put(tx, &h)
	hs.record(tx, event.HostSecretRotated, &h, "the former credential is refused from now on")
	return nil
}

// HostReplacement has the addresses of two agents that connected with the same host's
// credential.
type HostReplacement struct{ HostID, Before, Now string }

func (hs *hosts) runUsedElsewhere(tx *store.Tx, a HostReplacement) error {
	h, err := hs.mustHost(tx, a.HostID)
	if err != nil {
		return err
	}
	hs.record(tx, event.HostUsedElsewhere, h, fmt.Sprintf(
		"an agent at %s took the place of one at %s that was connected with the same credential; if it was copied, remove the host and join anew", a.Now, a.Before))
	return nil
}
