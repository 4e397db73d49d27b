package link

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wake"
)

// Credential authenticates a host to Muster, and Muster's builds to the host. BuildKey is
// nil until it is learned.
type Credential protocol.JoinResponse

func (c Credential) bearer() string { return "Bearer " + c.HostID + "." + c.Secret }

// Identify uses the stored credential, or joins, stores the new one and uses that.
func (s *Server) Identify(ctx context.Context) error {
	c, err := s.opts.Keeper.Load(ctx)
	if err != nil {
		return err
	}
	if c.HostID == "" {
		if c, err = s.joinAnew(ctx); err != nil {
			return err
		}
	}
	s.use(c)
	return nil
}

// joinAnew joins and stores the credential.
func (s *Server) joinAnew(ctx context.Context) (c Credential, err error) {
	if s.opts.NewToken != nil {
		if s.opts.Token, err = s.opts.NewToken(); err != nil {
			return c, fmt.Errorf("make a join token: %w", err)
		}
	}
	if s.opts.Token == "" {
		return c, errors.New("this machine has not joined yet: give a join token (muster admin join-tokens create makes one)")
	}
	if c, err = s.join(ctx); err != nil {
		return c, err
	}
	if err := s.opts.Keeper.Store(ctx, c); err != nil {
		return c, fmt.Errorf("keep credential: %w", err)
	}
	s.log.Info("joined", "host_id", c.HostID, "location", c.Location)
	return c, nil
}

// UseStored uses the stored credential if there is one, without joining.
func (s *Server) UseStored(ctx context.Context) error {
	c, err := s.opts.Keeper.Load(ctx)
	if err == nil {
		s.use(c)
	}
	return err
}

// renew stores the secret that Muster has sent to replace the host's, and acknowledges
// it; until then the old one is valid.
func (s *Server) renew(ctx context.Context, secret string) {
	if secret == "" {
		return
	}
	next := s.Credential()
	next.Secret = secret
	if err := s.opts.Keeper.Store(ctx, next); err != nil {
		s.log.Error("a new credential could not be kept; the old one stays", "error", err)
		return
	}
	s.use(next)
	s.log.Info("the credential was replaced", "host_id", next.HostID)
	s.secretKept.Send()
}

// learn stores the key with which Muster signs builds, as received from an authenticated
// server, if this machine joined before there was one. A known key is never replaced:
// another one is ignored, and builds signed with it are refused.
func (s *Server) learn(ctx context.Context, key ed25519.PublicKey) {
	next := s.Credential()
	if len(key) != ed25519.PublicKeySize || key.Equal(next.BuildKey) {
		return
	}
	if next.BuildKey != nil {
		s.log.Error("Muster signs builds with another key than the one this machine learned as it joined; that key stays, and new builds are refused. " +
			"Where the server has a new master key, remove " + s.opts.Keeper.Place() + " and join anew")
		return
	}
	next.BuildKey = key
	if err := s.opts.Keeper.Store(ctx, next); err != nil {
		s.log.Error("the key that signs builds could not be kept; it is used until the agent ends", "error", err)
	}
	s.use(next)
	s.log.Info("learned the key that signs builds", "host_id", next.HostID)
}

// rejoin removes a credential that Muster refuses and joins again, if the agent can create
// a token itself; otherwise it returns refused.
func (s *Server) rejoin(ctx context.Context, refused error) error {
	if s.opts.NewToken == nil {
		return refused
	}
	if err := s.opts.Keeper.Remove(ctx); err != nil {
		return fmt.Errorf("forget credential: %w", err)
	}
	return s.Identify(ctx)
}

// Credential returns the credential in use.
func (s *Server) Credential() Credential {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.me
}

// use changes the credential in use.
func (s *Server) use(me Credential) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.me = me
}

// join exchanges the token for a credential. It retries while Muster cannot be reached;
// if the token is refused, it fails.
func (s *Server) join(ctx context.Context) (Credential, error) {
	body, err := json.Marshal(protocol.JoinRequest{Token: s.opts.Token, Facts: s.opts.Facts()})
	if err != nil {
		return Credential{}, fmt.Errorf("join: %w", err)
	}
	for wait := FirstWait; ; wait = Longer(wait) {
		c, final, err := s.tryJoin(ctx, body)
		if err == nil || final {
			return c, err
		}
		s.log.Warn("not joined yet", "error", err)
		s.next()
		if !wake.Sleep(ctx, Jitter(wait)) {
			return c, errors.Join(ctx.Err(), err)
		}
	}
}

func (s *Server) tryJoin(ctx context.Context, body []byte) (c Credential, final bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url()+protocol.PathJoin, bytes.NewReader(body))
	if err != nil {
		return c, true, fmt.Errorf("join: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := s.http.Do(req)
	if err != nil {
		return c, false, fmt.Errorf("join: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return c, res.StatusCode < 500 && res.StatusCode != http.StatusTooManyRequests, fmt.Errorf("join: %w", RefusalOf(res))
	}
	var joined protocol.JoinResponse
	if err := json.NewDecoder(io.LimitReader(res.Body, protocol.MaxFrame)).Decode(&joined); err != nil {
		return c, false, fmt.Errorf("join: %w", err)
	}
	if joined.HostID == "" || joined.Secret == "" {
		return c, true, errors.New("join: Muster gave no credential")
	}
	return Credential(joined), true, nil
}
