package oidc

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/fault"
)

const (
	// Patience is how long somebody may take to log in at the provider.
	Patience = 10 * time.Minute
	// home is where people come to if they came from nowhere.
	home    = "/console/"
	maxPath = 1024 // bytes of the path to return to

	sealLabel = "console oidc login"
)

// begun is a login that has begun in a browser, which keeps it sealed.
type begun struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"` // of PKCE
	Issuer   string    `json:"issuer"`
	To       string    `json:"to"`
	Until    time.Time `json:"until"`
}

// Begin returns the URL at the provider where a person logs in, and what the browser has to
// keep until the provider has sent it back to Options.Redirect. to is the page of the
// console to return to. Errors: InternalService, Throttling.
func (p *Provider) Begin(ctx context.Context, to string) (at, sealed string, err error) {
	ctx, leave, err := p.enter(ctx)
	if err != nil {
		return "", "", err
	}
	defer leave()
	f, err := p.find(ctx)
	if err != nil {
		return "", "", err
	}
	b := begun{
		State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(),
		Issuer: p.config.Issuer, To: local(to), Until: time.Now().Add(Patience),
	}
	document, err := json.Marshal(b)
	if err != nil {
		return "", "", err
	}
	sealed = base64.RawURLEncoding.EncodeToString(p.opts.Sealer.Seal(string(document), sealLabel))
	return p.oauth(f).AuthCodeURL(b.State, oidc.Nonce(b.Nonce), oauth2.S256ChallengeOption(b.Verifier)), sealed, nil
}

// inRegion matches the beginning of the path of a page in a region.
var inRegion = regexp.MustCompile(`^/regions/[a-z0-9-]{1,64}/console/`)

// local returns a path below the console, or below that of a region, whatever was asked for.
func local(to string) string {
	u, err := url.Parse(to)
	page := to
	if at := inRegion.FindString(to); at != "" {
		page = home + to[len(at):]
	}
	plainly := !strings.ContainsFunc(to, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' })
	if err != nil || !plainly || len(to) > maxPath || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(page, home) || strings.Contains(u.Path, "..") || strings.Contains(u.Path, "//") || strings.Contains(u.Path, home+"api/") {
		return home
	}
	return to
}

// Answer is what a login has led to.
type Answer struct {
	Person auth.Person // as far as it is known, even if it has no role
	To     string      // the page to return to
}

// Finish ends a login with what the provider has sent the browser back with, and what the
// browser has kept. Errors: UnrecognizedClient (it is not the provider's answer to this
// browser, or not a good one), AccessDenied (the person has no role), InternalService,
// Throttling.
func (p *Provider) Finish(ctx context.Context, sealed string, query url.Values) (a Answer, err error) {
	a.To = home
	b, err := p.open(sealed, query.Get("state"))
	if err != nil {
		return a, err
	}
	a.To = b.To
	ctx, leave, err := p.enter(ctx)
	if err != nil {
		return a, err
	}
	defer leave()
	f, err := p.find(ctx)
	if err != nil {
		return a, err
	}
	if from := query.Get("iss"); from != p.config.Issuer && (from != "" || f.namesIss) {
		return a, fault.New(fault.UnrecognizedClient, "the answer is not from %s, with which the login was begun; log in again", p.config.Issuer)
	}
	if code := query.Get("error"); code != "" {
		return a, p.refusal(code, query.Get("error_description"))
	}
	token, id, err := p.exchange(ctx, f, b, query.Get("code"))
	if err != nil {
		return a, err
	}
	return a, p.identify(ctx, f, token, id, &a.Person)
}

// open returns the login that this browser has begun, if the answer belongs to it.
func (p *Provider) open(sealed, state string) (*begun, error) {
	lost := fault.New(fault.UnrecognizedClient, "this login was not begun in this browser, or more than %v ago, or another one was begun since; log in again", Patience)
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return nil, lost
	}
	document, err := p.opts.Sealer.Open(raw, sealLabel)
	if err != nil {
		return nil, lost
	}
	var b begun
	switch err := json.Unmarshal([]byte(document), &b); {
	case err != nil, !time.Now().Before(b.Until), b.Issuer != p.config.Issuer,
		b.State == "", subtle.ConstantTimeCompare([]byte(b.State), []byte(state)) != 1:
		return nil, lost
	}
	return &b, nil
}

// refusals are the provider's refusals (RFC 6749, 4.1.2.1; OpenID Connect Core, 3.1.2.6) in
// words.
var refusals = map[string]string{
	"access_denied":             "did not let you in, or you declined",
	"login_required":            "wants you to log in there first",
	"consent_required":          "wants your consent first",
	"interaction_required":      "wants to ask you something first",
	"unauthorized_client":       "does not let this server use the flow with a code; its administrator has to allow it for the client",
	"invalid_scope":             "does not know one of the scopes (--oidc-scopes)",
	"invalid_request":           "does not understand the request; is this server's callback URL registered there?",
	"unsupported_response_type": "does not let this server use the flow with a code; its administrator has to allow it for the client",
	"server_error":              "has failed; try again",
	"temporarily_unavailable":   "is busy; try again",
}

func (p *Provider) refusal(code, description string) error {
	words, known := refusals[code]
	if !known {
		words = "has refused"
	}
	text := p.config.Name + " " + words + " (" + plain(code, 64) + ")"
	if description = plain(description, 300); description != "" {
		text += `. It says: "` + description + `"`
	}
	return fault.New(fault.UnrecognizedClient, "%s", text)
}

// exchange gets the tokens for a code, and verifies the ID token.
func (p *Provider) exchange(ctx context.Context, f *found, b *begun, code string) (*oauth2.Token, *oidc.IDToken, error) {
	if code == "" {
		return nil, nil, fault.New(fault.UnrecognizedClient, "the answer of %s has no code; log in again", p.config.Name)
	}
	token, err := p.oauth(f).Exchange(ctx, code, oauth2.VerifierOption(b.Verifier))
	if err != nil {
		return nil, nil, p.unexchanged(err)
	}
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return nil, nil, p.bad("it sent no ID token", nil)
	}
	id, err := f.provider.Verifier(&oidc.Config{ClientID: p.config.ClientID}).Verify(ctx, raw)
	if err != nil {
		return nil, nil, p.bad("its ID token is not valid", err)
	}
	var party struct {
		Authorized string `json:"azp"`
	}
	switch err := id.Claims(&party); {
	case err != nil:
		return nil, nil, p.bad("its ID token is not valid", err)
	case subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(b.Nonce)) != 1:
		return nil, nil, p.bad("its ID token was made for another login (nonce)", nil)
	case party.Authorized != p.config.ClientID && (party.Authorized != "" || len(id.Audience) > 1):
		return nil, nil, p.bad("its ID token was made for another application (azp)", nil)
	case id.AccessTokenHash != "" && id.VerifyAccessToken(token.AccessToken) != nil:
		return nil, nil, p.bad("its ID token and access token do not belong together", nil)
	case id.Subject == "" || len(id.Subject) > 255:
		return nil, nil, p.bad("its ID token does not name the account (sub)", nil)
	}
	return token, id, nil
}

// unexchanged returns the fault for a code that got no tokens.
func (p *Provider) unexchanged(err error) error {
	var answer *oauth2.RetrieveError
	if !errors.As(err, &answer) || answer.ErrorCode == "" {
		p.opts.Logger.Warn("the identity provider of the console gave no tokens", "issuer", p.config.Issuer, "error", plain(err.Error(), 500))
		return p.away()
	}
	p.opts.Logger.Warn("the identity provider of the console gave no tokens", "issuer", p.config.Issuer, "error", plain(answer.ErrorCode, 64), "description", plain(answer.ErrorDescription, 300))
	switch answer.ErrorCode {
	case "invalid_grant":
		return fault.New(fault.UnrecognizedClient, "%s does not accept the code with which it sent you back: it was used before or is too old; log in again", p.config.Name)
	case "invalid_client", "unauthorized_client":
		return fault.New(fault.InternalService, "%s does not accept this server's client id or secret; an administrator has to correct --oidc-client-id or --oidc-client-secret-file", p.config.Name)
	}
	return p.refusal(answer.ErrorCode, answer.ErrorDescription)
}

// bad returns the fault for an answer with which nobody may log in.
func (p *Provider) bad(why string, err error) error {
	p.opts.Logger.Warn("an answer of the identity provider of the console was refused", "issuer", p.config.Issuer, "why", why, "error", err)
	return fault.New(fault.UnrecognizedClient, "the answer of %s was refused: %s; log in again", p.config.Name, why)
}

// identify says who the account belongs to, and by which rule that person has a role.
func (p *Provider) identify(ctx context.Context, f *found, token *oauth2.Token, id *oidc.IDToken, who *auth.Person) error {
	var document json.RawMessage
	if err := id.Claims(&document); err != nil {
		return p.bad("its ID token is not valid", err)
	}
	c, err := parse(document)
	if err != nil {
		return p.bad("its ID token is not valid", err)
	}
	if _, present := c.values(p.config.Claim); !present {
		p.ask(ctx, f, token, id.Subject, c)
	}
	once := sha256.Sum256([]byte("muster oidc answer v1\n" + id.Nonce))
	*who = auth.Person{Issuer: p.config.Issuer, Subject: id.Subject, Name: c.name(id.Subject), Once: hex.EncodeToString(once[:16])}
	if err := c.in(p.config.EmailDomains); err != nil {
		return err
	}
	values, _ := c.values(p.config.Claim)
	var ok bool
	if who.Rule, ok = p.rules.first(values); !ok {
		return c.unruled(who.Name, p.config.Claim)
	}
	return nil
}

// ask adds the claims that only the UserInfo endpoint has: some providers keep groups out of
// ID tokens.
func (p *Provider) ask(ctx context.Context, f *found, token *oauth2.Token, subject string, c claims) {
	if _, err := checkURL("userinfo_endpoint", f.provider.UserInfoEndpoint()); err != nil {
		return
	}
	info, err := f.provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		p.opts.Logger.Warn("the identity provider of the console told nothing about an account", "issuer", p.config.Issuer, "error", plain(err.Error(), 300))
		return
	}
	var more claims
	if info.Subject != subject || info.Claims(&more) != nil { // of another account (OpenID Connect Core, 5.3.2)
		return
	}
	if c["email"] != nil && c["email"] != more["email"] {
		delete(more, "email_verified") // says nothing of the address in the ID token
	}
	for name, value := range more {
		if _, known := c[name]; !known {
			c[name] = value
		}
	}
}
