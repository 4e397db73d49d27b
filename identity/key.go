package identity

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// SigningKey is a key for access tokens. It is published from Created on, signs
// from Activate to Retire, and is published until Remove.
type SigningKey struct {
	ID        string    `json:"id"` // kid
	Algorithm string    `json:"algorithm"`
	Public    []byte    `json:"public"` // PKIX, DER
	Sealed    []byte    `json:"sealed"` // PKCS #8, DER, under the master key
	Created   time.Time `json:"created"`
	Activate  time.Time `json:"activate"`
	Retire    time.Time `json:"retire"`
	Remove    time.Time `json:"remove"`
}

const rsaBits = 2048

func signs(algorithm string) bool {
	return algorithm == "ES256" || algorithm == "EdDSA" || algorithm == "RS256"
}

func newPair(algorithm string) (crypto.Signer, error) {
	switch algorithm {
	case "RS256":
		return rsa.GenerateKey(rand.Reader, rsaBits)
	case "EdDSA":
		_, private, err := ed25519.GenerateKey(rand.Reader)
		return private, err
	}
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

// Keys are the keys that sign access tokens.
type Keys struct {
	st      *store.Store
	opts    *Options
	events  *event.Log
	secrets Secrets
	table   *store.Table[SigningKey]
	expires *store.DueIndex[SigningKey]
	signers sync.Map // of opened signing keys, by id
	publics sync.Map // parsed public keys, by id
	add     *store.Action[keyArgs]
}

func newKeys(st *store.Store, d Deps, opts *Options) *Keys {
	k := &Keys{st: st, opts: opts, events: d.Events, secrets: d.Secrets}
	k.table = store.NewTable(st, store.TableSpec[SigningKey]{Name: "player_key", Key: func(k *SigningKey) string { return k.ID }})
	k.expires = store.NewDueIndex(k.table, "remove", func(k *SigningKey) time.Time { return k.Remove })
	k.add = store.NewAction(st, "player.key", k.runAdd)
	return k
}

// create creates a key that is not stored yet.
func (s *Keys) create() (SigningKey, error) {
	pair, err := newPair(s.opts.Algorithm)
	if err != nil {
		return SigningKey{}, fmt.Errorf("make signing key: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(pair)
	if err != nil {
		return SigningKey{}, fmt.Errorf("encode signing key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(pair.Public())
	if err != nil {
		return SigningKey{}, fmt.Errorf("encode signing key: %w", err)
	}
	id := randomText(12)
	return SigningKey{ID: id, Algorithm: s.opts.Algorithm, Public: public, Sealed: s.secrets.Seal(string(private), "player key "+id)}, nil
}

// ensure creates the next signing key when it is needed, so that each is published
// for Options.KeyLead before it signs; the very first signs immediately.
func (s *Keys) ensure(ctx context.Context) error {
	if s.opts.Home != nil {
		return nil
	}
	newest := s.newest(s.st.View())
	if newest != nil && time.Now().Before(newest.Retire.Add(-s.opts.KeyLead)) {
		return nil
	}
	key, err := s.create()
	if err != nil {
		return err
	}
	return s.add.Do(ctx, keyArgs{key})
}

type keyArgs struct{ Key SigningKey }

func (s *Keys) runAdd(tx *store.Tx, a keyArgs) error {
	k, now := a.Key, tx.Now()
	k.Created, k.Activate = now, now
	newest := s.newest(tx)
	switch {
	case newest != nil && now.Before(newest.Retire.Add(-s.opts.KeyLead)):
		return nil // another call has added the key
	case newest != nil && newest.Retire.After(now):
		k.Activate = newest.Retire
	}
	k.Retire = k.Activate.Add(s.opts.KeyLife)
	k.Remove = k.Retire.Add(s.opts.AccessLife + time.Hour)
	s.table.Put(tx, &k)
	s.events.Append(tx, event.Event{Code: event.PlayerKeyCreated, Resource: k.ID, Message: k.Algorithm})
	return nil
}

func (s *Keys) newest(r store.Reader) *SigningKey {
	var newest *SigningKey
	for k := range s.table.All(r) {
		if newest == nil || k.Activate.After(newest.Activate) {
			newest = k
		}
	}
	return newest
}

// active returns the key that signs at a time, or nil.
func (s *Keys) active(r store.Reader, now time.Time) *SigningKey {
	var active *SigningKey
	for k := range s.table.All(r) {
		if !k.Activate.After(now) && (active == nil || k.Activate.After(active.Activate)) {
			active = k
		}
	}
	return active
}

// signer returns the key that signs at a time, and its signer; opened keys are cached.
func (s *Keys) signer(r store.Reader, now time.Time) (*SigningKey, jose.Signer, error) {
	k := s.active(r, now)
	if k == nil {
		return nil, nil, errors.New("there is no key to sign access tokens with")
	}
	if signer, ok := s.signers.Load(k.ID); ok {
		return k, signer.(jose.Signer), nil
	}
	signer, err := s.open(k)
	if err == nil {
		s.signers.Store(k.ID, signer)
	}
	return k, signer, err
}

func (s *Keys) open(k *SigningKey) (jose.Signer, error) {
	der, err := s.secrets.Open(k.Sealed, "player key "+k.ID)
	if err != nil {
		return nil, err
	}
	private, err := x509.ParsePKCS8PrivateKey([]byte(der))
	if err != nil {
		return nil, fmt.Errorf("decode signing key %s: %w", k.ID, err)
	}
	options := (&jose.SignerOptions{}).WithType("at+jwt").WithHeader("kid", k.ID)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(k.Algorithm), Key: private}, options)
	if err != nil {
		return nil, fmt.Errorf("use signing key %s: %w", k.ID, err)
	}
	return signer, nil
}

// public returns the public key of k; parsed keys are cached.
func (s *Keys) public(k *SigningKey) (any, error) {
	if public, ok := s.publics.Load(k.ID); ok {
		return public, nil
	}
	public, err := x509.ParsePKIXPublicKey(k.Public)
	if err == nil {
		s.publics.Store(k.ID, public)
	}
	return public, err
}

// remove removes a key, and what is cached of it.
func (s *Keys) remove(tx *store.Tx, k *SigningKey) {
	s.table.Delete(tx, k.ID)
	tx.OnCommit(func() { s.signers.Delete(k.ID); s.publics.Delete(k.ID) })
}

// Set returns the published keys (RFC 7517).
func (s *Keys) Set() (jose.JSONWebKeySet, error) {
	var set jose.JSONWebKeySet
	for k := range s.table.All(s.st.View()) {
		public, err := s.public(k)
		if err != nil {
			return set, fmt.Errorf("decode public key %s: %w", k.ID, err)
		}
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: public, KeyID: k.ID, Algorithm: k.Algorithm, Use: "sig"})
	}
	return set, nil
}

// randomText returns n random bytes as text for URLs and headers.
func randomText(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

// NewSecret returns 24 random bytes as text, for short-lived secrets.
func NewSecret() string { return randomText(24) }
