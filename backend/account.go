package backend

import (
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// discovery says where the keys are (OpenID Connect Discovery, 3, as far as it
// applies to a server whose tokens are access tokens).
func (rq *request) discovery() (answer, error) {
	rq.public("3600")
	issuer := rq.b.issuer()
	return ok(map[string]any{
		"issuer": issuer, "jwks_uri": issuer + "/.well-known/jwks.json",
		"id_token_signing_alg_values_supported": []string{or(rq.b.Algorithm, "ES256")},
		"scopes_supported":                      []string{identity.ScopeGuest, identity.ScopeAuthenticated},
		"token_endpoint":                        rq.b.opts.Base() + protocol.Base + "/auth/refresh",
	})
}

func (b *Backend) issuer() string { return or(b.Issuer, b.opts.Base()+"/player") }

func (rq *request) keySet() (answer, error) {
	set, err := rq.b.ids.Tokens.Keys.Set()
	if err != nil {
		return answer{}, err
	}
	rq.public("3600")
	return ok(set)
}

func (rq *request) createGuest() (answer, error) {
	if err := rq.limit(rq.b.rates.guest, siteOf(rq.from)); err != nil {
		return answer{}, err
	}
	s, err := rq.b.ids.Logins.CreateGuest(rq.http.Context())
	return rq.loggedIn(s, err, identity.Guest)
}

func (rq *request) loginGuest() (answer, error) {
	in, err := decode[protocol.GuestLogin](rq)
	if err != nil {
		return answer{}, err
	}
	account := rq.accountKey(in.PlayerID)
	if err := rq.checkLock(account); err != nil {
		return answer{}, err
	}
	s, err := rq.b.ids.Logins.LoginGuest(rq.http.Context(), in.PlayerID, in.GuestSecret)
	rq.countLogin(account, err)
	return rq.loggedIn(s, err, identity.Guest)
}

// accountKey returns the key under which failed logins with an account are counted. It
// is "" for what cannot be one of our accounts, since clients could invent any number
// of those, and contains the client's network, so that nobody locks others out.
func (rq *request) accountKey(player string) string {
	if len(player) != len(uuid.Nil.String()) || uuid.Validate(player) != nil {
		return ""
	}
	return "account " + player + " " + networkOf(rq.from)
}

func (rq *request) addressKey() string { return "address " + networkOf(rq.from) }

// checkLock refuses logins after too many failures.
func (rq *request) checkLock(account string) error {
	now := time.Now()
	wait := max(rq.b.lockout.locked(account, failuresOfAccount, now), rq.b.lockout.locked(rq.addressKey(), failuresOfAddress, now))
	if wait > 0 {
		rq.b.metrics.limit("lockout")
		return limited("locked-out", wait)
	}
	return nil
}

// countLogin counts a failed login against the account, unless it is "", and against the
// address, unless the server is open: there all clients have the same address.
func (rq *request) countLogin(account string, err error) {
	now := time.Now()
	switch {
	case err == nil:
		rq.b.lockout.passed(account)
	case identity.Is(err, identity.GuestSecretInvalid) || identity.Is(err, identity.ProviderInvalid):
		if account != "" {
			rq.b.lockout.failed(account, accountLock, now)
		}
		if !rq.b.Open {
			rq.b.lockout.failed(rq.addressKey(), addressLock, now)
		}
	}
}

func (rq *request) loginProvider() (answer, error) {
	in, err := decode[protocol.ProviderLogin](rq)
	if err != nil {
		return answer{}, err
	}
	if err := rq.limit(rq.b.rates.login, networkOf(rq.from)); err != nil {
		return answer{}, err
	}
	if err := rq.checkLock(""); err != nil {
		return answer{}, err
	}
	provider, create := rq.param("provider"), in.Create == nil || *in.Create
	s, err := rq.b.ids.Logins.Login(rq.http.Context(), provider, credential(&in), create)
	if err != nil {
		rq.countLogin("", err)
	}
	return rq.loggedIn(s, err, provider)
}

func credential(in *protocol.ProviderLogin) identity.Credential {
	return identity.Credential{Token: in.Token, Nonce: in.Nonce, Identity: in.Identity}
}

func (rq *request) refresh() (answer, error) {
	in, err := decode[protocol.RefreshRequest](rq)
	if err != nil {
		return answer{}, err
	}
	s, err := rq.b.ids.Tokens.Refresh(rq.http.Context(), in.RefreshToken)
	return rq.loggedIn(s, err, "refresh")
}

func (rq *request) logout() (answer, error) {
	in, err := decode[protocol.LogoutRequest](rq)
	if err != nil {
		return answer{}, err
	}
	if in.RefreshToken != "" && !in.All {
		return done(rq.b.ids.Tokens.Logout(rq.http.Context(), in.RefreshToken))
	}
	who, err := rq.b.ids.Tokens.Check(bearer(rq.http))
	if err != nil {
		return answer{}, err
	}
	return done(rq.b.ids.Tokens.LogoutAccess(rq.http.Context(), who, in.All))
}

// loggedIn answers a login.
func (rq *request) loggedIn(s *identity.Session, err error, how string) (answer, error) {
	rq.b.metrics.login(how, err)
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

func (rq *request) me() (answer, error) {
	p, err := rq.b.ids.Accounts.Get(rq.player.PlayerID)
	if err != nil {
		return answer{}, err
	}
	return ok(rq.playerOut(p))
}

func (rq *request) playerOut(p *identity.Player) *protocol.Player {
	return &protocol.Player{
		PlayerID: p.ID, DisplayName: p.DisplayName, CreatedAt: p.Created,
		Scope: protocol.PlayerScope(rq.b.ids.Accounts.Scope(p.ID)), Identities: linkedOut(rq.b.ids.Accounts.Links(p.ID)),
	}
}

func (rq *request) changeMe() (answer, error) {
	in, err := decode[protocol.PlayerChange](rq)
	if err != nil {
		return answer{}, err
	}
	if err := rq.change(); err != nil {
		return answer{}, err
	}
	p, err := rq.b.ids.Accounts.Rename(rq.http.Context(), rq.player.PlayerID, in.DisplayName)
	if err != nil {
		return answer{}, err
	}
	return ok(rq.playerOut(p))
}

func (rq *request) deleteMe() (answer, error) {
	if err := rq.change(); err != nil {
		return answer{}, err
	}
	return done(rq.b.ids.Accounts.Delete(rq.http.Context(), rq.player))
}

func (rq *request) link() (answer, error) {
	in, err := decode[protocol.ProviderLogin](rq)
	if err != nil {
		return answer{}, err
	}
	if err := rq.limit(rq.b.rates.login, networkOf(rq.from)); err != nil {
		return answer{}, err
	}
	provider := rq.param("provider")
	s, err := rq.b.ids.Logins.Link(rq.http.Context(), rq.player, provider, credential(&in))
	return rq.loggedIn(s, err, provider)
}

func (rq *request) unlink() (answer, error) {
	if err := rq.change(); err != nil {
		return answer{}, err
	}
	return done(rq.b.ids.Logins.Unlink(rq.http.Context(), rq.player, rq.param("provider")))
}

func (rq *request) merge() (answer, error) {
	in, err := decode[protocol.MergeRequest](rq)
	if err != nil {
		return answer{}, err
	}
	if in.Keep != protocol.MergeRequestKeepMine && in.Keep != protocol.MergeRequestKeepTheirs {
		return answer{}, refuse("invalid-parameter", "keep: must be mine or theirs")
	}
	if err := rq.limit(rq.b.rates.login, networkOf(rq.from)); err != nil {
		return answer{}, err
	}
	s, err := rq.b.ids.Merges.Merge(rq.http.Context(), rq.player, in.ConflictToken, in.Keep == protocol.MergeRequestKeepTheirs)
	return rq.loggedIn(s, err, "merge")
}

func (rq *request) publicPlayer() (answer, error) {
	p, err := rq.b.publicOut(rq.param("player"))
	if err != nil {
		return answer{}, err
	}
	return ok(p)
}

// publicOut returns what anyone may know of a player.
func (b *Backend) publicOut(id string) (*protocol.PublicPlayer, error) {
	p, err := b.ids.Accounts.Get(id)
	if err != nil {
		return nil, err
	}
	data, err := b.ids.Data.All(p.ID, identity.Public)
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

func (rq *request) lookUpPlayers() (answer, error) {
	in, err := decode[protocol.PlayerLookup](rq)
	if err != nil {
		return answer{}, err
	}
	if len(in.IDs) < 1 || len(in.IDs) > mostLookedUp {
		return answer{}, refuse("validation-failed", "ids: must be 1 to 50")
	}
	if err := rq.limit(rq.b.rates.message, "lookup "+rq.player.PlayerID); err != nil {
		return answer{}, err
	}
	out := &protocol.PublicPlayers{Items: []protocol.PublicPlayer{}}
	told, size := map[string]bool{}, 0
	for _, id := range in.IDs {
		if told[id] {
			continue
		}
		told[id] = true
		p, err := rq.b.publicOut(id)
		if identity.Is(err, identity.NotFound) {
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
	return ok(out)
}

func (rq *request) ban() (answer, error) {
	in, err := decode[protocol.BanRequest](rq)
	if err != nil {
		return answer{}, err
	}
	return done(rq.b.ids.Accounts.Ban(rq.http.Context(), rq.param("player"), in.Reason, in.Until))
}
