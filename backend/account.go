package backend

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/refusal"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// accounts handles logins, accounts and players' public profiles.
type accounts struct {
	*core
	lockout *lockout
}

// discovery returns where the keys are (OpenID Connect Discovery, 3, as far as it
// applies to a server whose tokens are access tokens).
func (h *accounts) discovery(rq *request) (answer, error) {
	rq.public("3600")
	issuer := h.issuer()
	return ok(map[string]any{
		"issuer": issuer, "jwks_uri": issuer + "/.well-known/jwks.json",
		"id_token_signing_alg_values_supported": []string{cmp.Or(h.config.Algorithm, "ES256")},
		"scopes_supported":                      []string{identity.ScopeGuest, identity.ScopeAuthenticated},
		"token_endpoint":                        h.Base + protocol.Base + "/auth/refresh",
	}, nil)
}

func (h *accounts) issuer() string { return cmp.Or(h.config.Issuer, h.Base+"/player") }

func (h *accounts) keySet(rq *request) (answer, error) {
	set, err := h.Identity.Tokens.Keys.Set()
	if err == nil {
		rq.public("3600")
	}
	return ok(set, err)
}

// createGuest makes a guest account. It takes no members, and refuses those of a login: the
// guest would get a new account in place of the one that was meant.
func (h *accounts) createGuest(rq *request) (answer, error) {
	if len(bytes.TrimSpace(rq.body)) > 0 {
		var in struct {
			PlayerID    jsontext.Value `json:"player_id"`
			GuestSecret jsontext.Value `json:"guest_secret"`
		}
		if err := decodeText(rq.body, &in, ""); err != nil {
			return answer{}, err
		}
		if member := cmp.Or(given("/player_id", in.PlayerID), given("/guest_secret", in.GuestSecret)); member != "" {
			return answer{}, refuse("unknown-field", member+": there is no such member here, where new accounts are made; "+
				"to log in with an account send player_id and guest_secret to "+protocol.Base+"/auth/guest/login")
		}
	}
	if err := newGuest(rq); err != nil {
		return answer{}, err
	}
	s, err := h.Identity.Logins.CreateGuest(rq.context())
	return h.loggedIn(rq, s, err, identity.Guest)
}

// given returns the name of a member that has a value, or "".
func given(member string, value jsontext.Value) string {
	if value == nil {
		return ""
	}
	return member
}

func (h *accounts) loginGuest(rq *request, in *protocol.GuestLogin) (answer, error) {
	account := accountKey(rq, in.PlayerID)
	if err := h.checkLock(rq, account); err != nil {
		return answer{}, err
	}
	s, err := h.Identity.Logins.LoginGuest(rq.context(), in.PlayerID, in.GuestSecret)
	h.countLogin(rq, account, err)
	return h.loggedIn(rq, s, err, identity.Guest)
}

// accountKey returns the key under which failed logins with an account are counted. It
// contains the client's network, so that no client can lock others out. It is "" for ids
// that cannot be accounts, since clients could invent any number of them.
func accountKey(rq *request, player string) string {
	if len(player) != len(uuid.Nil.String()) || uuid.Validate(player) != nil {
		return ""
	}
	return "account " + player + " " + networkOf(rq.from)
}

func addressKey(rq *request) string { return "address " + networkOf(rq.from) }

func (h *accounts) checkLock(rq *request, account string) error {
	now := time.Now()
	wait := max(h.lockout.locked(account, failuresOfAccount, now), h.lockout.locked(addressKey(rq), failuresOfAddress, now))
	if wait > 0 {
		h.metrics.limit(limitLockout)
		return limited("locked-out", wait)
	}
	return nil
}

// countLogin counts a failed login against the account, unless it is "", and against the
// address, unless the server is open: there all clients have the same address.
func (h *accounts) countLogin(rq *request, account string, err error) {
	now := time.Now()
	switch {
	case err == nil:
		h.lockout.passed(account)
	case refusal.Is(err, identity.GuestSecretInvalid) || refusal.Is(err, identity.ProviderInvalid):
		if account != "" {
			h.lockout.failed(account, accountLock, now)
		}
		if !h.config.Open {
			h.lockout.failed(addressKey(rq), addressLock, now)
		}
	}
}

func (h *accounts) loginProvider(rq *request, in *protocol.ProviderLogin) (answer, error) {
	if err := h.checkLock(rq, ""); err != nil {
		return answer{}, err
	}
	provider, create := rq.param("provider"), in.Create == nil || *in.Create
	s, err := h.Identity.Logins.Login(rq.context(), provider, credential(in), create)
	if err != nil {
		h.countLogin(rq, "", err)
	}
	return h.loggedIn(rq, s, err, provider)
}

func credential(in *protocol.ProviderLogin) identity.Credential {
	return identity.Credential{Token: in.Token, Nonce: in.Nonce, Identity: in.Identity}
}

func (h *accounts) refresh(rq *request, in *protocol.RefreshRequest) (answer, error) {
	s, err := h.Identity.Tokens.Refresh(rq.context(), in.RefreshToken)
	return h.loggedIn(rq, s, err, "refresh")
}

func (h *accounts) logout(rq *request, in *protocol.LogoutRequest) (answer, error) {
	if in.RefreshToken != "" && !in.All {
		return done(h.Identity.Tokens.Logout(rq.context(), in.RefreshToken))
	}
	who, err := h.Identity.Tokens.Check(bearer(rq.http))
	if err != nil {
		return answer{}, err
	}
	return done(h.Identity.Tokens.LogoutAccess(rq.context(), who, in.All))
}

func (h *accounts) loggedIn(rq *request, s *identity.Session, err error, how string) (answer, error) {
	h.metrics.login(how, err)
	if err != nil {
		return answer{}, err
	}
	door.Known(rq.http)
	now := time.Now()
	status := http.StatusOK
	if s.Created {
		status = http.StatusCreated
	}
	return answer{status: status, body: &protocol.Session{
		PlayerID: s.PlayerID, Scope: protocol.SessionScope(s.Scope), AccessToken: s.AccessToken, RefreshToken: s.RefreshToken,
		AccessTokenExpiresIn: int64(s.AccessExpires.Sub(now).Seconds()), RefreshTokenExpiresIn: int64(s.RefreshExpires.Sub(now).Seconds()),
		Created: s.Created, Identities: linkedOut(s.Links), GuestSecret: s.GuestSecret,
	}}, nil
}

func linkedOut(links []*identity.Link) []protocol.LinkedIdentity {
	out := make([]protocol.LinkedIdentity, len(links))
	for i, l := range links {
		out[i] = protocol.LinkedIdentity{Provider: l.Provider, SubjectHint: l.SubjectHint(), LinkedAt: l.Linked}
	}
	return out
}

func (h *accounts) me(rq *request) (answer, error) {
	p, err := h.Identity.Accounts.Get(rq.player.PlayerID)
	return h.ownAccount(p, err)
}

func (h *accounts) ownAccount(p *identity.Player, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return ok(&protocol.Player{
		PlayerID: p.ID, DisplayName: p.DisplayName, CreatedAt: p.Created,
		Scope: protocol.PlayerScope(h.Identity.Accounts.Scope(p.ID)), Identities: linkedOut(h.Identity.Accounts.Links(p.ID)),
	}, nil)
}

func (h *accounts) changeMe(rq *request, in *protocol.PlayerChange) (answer, error) {
	p, err := h.Identity.Accounts.Rename(rq.context(), rq.player.PlayerID, in.DisplayName)
	return h.ownAccount(p, err)
}

func (h *accounts) deleteMe(rq *request) (answer, error) {
	return done(h.Identity.Accounts.Delete(rq.context(), rq.player))
}

func (h *accounts) link(rq *request, in *protocol.ProviderLogin) (answer, error) {
	provider := rq.param("provider")
	s, err := h.Identity.Logins.Link(rq.context(), rq.player, provider, credential(in))
	return h.loggedIn(rq, s, err, provider)
}

func (h *accounts) unlink(rq *request) (answer, error) {
	return done(h.Identity.Logins.Unlink(rq.context(), rq.player, rq.param("provider")))
}

func (h *accounts) merge(rq *request, in *protocol.MergeRequest) (answer, error) {
	if in.Keep != protocol.MergeRequestKeepMine && in.Keep != protocol.MergeRequestKeepTheirs {
		return answer{}, refuse("invalid-parameter", "keep: must be mine or theirs")
	}
	s, err := h.Identity.Merges.Merge(rq.context(), rq.player, in.ConflictToken, in.Keep == protocol.MergeRequestKeepTheirs)
	return h.loggedIn(rq, s, err, "merge")
}

func (h *accounts) publicPlayer(rq *request) (answer, error) {
	return ok(h.publicOut(rq.param("player")))
}

func (h *accounts) publicOut(id string) (*protocol.PublicPlayer, error) {
	p, err := h.Identity.Accounts.Get(id)
	if err != nil {
		return nil, err
	}
	data, err := h.Identity.Data.All(p.ID, identity.Public)
	if err != nil {
		return nil, err
	}
	return &protocol.PublicPlayer{PlayerID: p.ID, DisplayName: p.DisplayName, Data: itemsOut(data)}, nil
}

// Limits of looking up several players in one request.
const (
	mostLookedUp = 50
	mostToldOf   = 1 << 20 // bytes of data in total: one player may have a quarter of that
)

func (h *accounts) lookUpPlayers(rq *request, in *protocol.PlayerLookup) (answer, error) {
	if len(in.IDs) < 1 || len(in.IDs) > mostLookedUp {
		return answer{}, refuse("validation-failed", "ids: must be 1 to 50")
	}
	out := &protocol.PublicPlayers{Items: []protocol.PublicPlayer{}}
	told, size := map[string]bool{}, 0
	for _, id := range in.IDs {
		if told[id] {
			continue
		}
		told[id] = true
		p, err := h.publicOut(id)
		if refusal.Is(err, identity.NotFound) {
			continue
		}
		if err != nil {
			return answer{}, err
		}
		for _, d := range p.Data {
			size += len(d.Value)
		}
		if size > mostToldOf {
			return answer{}, refuse("validation-failed", "ids: these players have more than 1 MiB of public data; ask for fewer at once")
		}
		out.Items = append(out.Items, *p)
	}
	return ok(out, nil)
}

// mostReason bounds the reason for a ban, in bytes.
const mostReason = 1000

func (h *accounts) ban(rq *request, in *protocol.BanRequest) (answer, error) {
	switch {
	case in.Until.IsZero():
		return answer{}, refuse("validation-failed", "until: is required: when the ban ends; a time that has passed lifts it")
	case len(in.Reason) > mostReason:
		return answer{}, refuse("validation-failed", fmt.Sprintf("reason: has %d bytes, at most %d", len(in.Reason), mostReason))
	}
	return done(h.Identity.Accounts.Ban(rq.context(), rq.param("player"), in.Reason, in.Until))
}
