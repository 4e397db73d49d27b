package agent

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/musterhq/muster/agent/disk"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wake"
)

// credential authenticates this host to Muster, and Muster's builds to this host. BuildKey
// is nil until it is learned.
type credential protocol.JoinResponse

func (c credential) bearer() string { return "Bearer " + c.HostID + "." + c.Secret }

// credentialFile is the file of the credential below Root.
const credentialFile = "credential.json"

// HasJoined reports whether an agent's folder has a credential, so that no token is
// needed.
func HasJoined(root string) bool {
	_, err := os.Stat(filepath.Join(root, credentialFile))
	return err == nil
}

// stored returns the credential on disk, or the zero value.
func (s *server) stored() (c credential, err error) {
	err = disk.Read(filepath.Join(s.opts.Root, credentialFile), &c)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return credential{}, fmt.Errorf("read credential: %w", err)
	}
	return c, nil
}

// identify returns the stored credential, or joins and stores the new one.
func (s *server) identify(ctx context.Context) (credential, error) {
	c, err := s.stored()
	if err != nil || c.HostID != "" {
		return c, err
	}
	if s.opts.NewToken != nil {
		if s.opts.Token, err = s.opts.NewToken(); err != nil {
			return c, fmt.Errorf("make a join token: %w", err)
		}
	}
	if s.opts.Token == "" {
		return c, errors.New("this machine has not joined yet: give a join token (muster admin join-token makes one)")
	}
	if c, err = s.join(ctx); err != nil {
		return c, err
	}
	if err := s.store(c); err != nil {
		return c, err
	}
	s.log.Info("joined", "host_id", c.HostID, "location", c.Location)
	return c, nil
}

// store writes the credential to disk durably: without it the machine has no
// access.
func (s *server) store(c credential) error {
	if err := disk.Write(filepath.Join(s.opts.Root, credentialFile), c); err != nil {
		return fmt.Errorf("keep credential: %w", err)
	}
	if dir, err := os.Open(s.opts.Root); err == nil {
		_ = dir.Sync() // some systems cannot sync a folder, and need not
		dir.Close()
	}
	return nil
}

// renew stores the secret that Muster has sent to replace the host's, and acknowledges
// it; until then the old one is valid.
func (s *server) renew(secret string) {
	if secret == "" {
		return
	}
	next := s.credential()
	next.Secret = secret
	if err := s.store(next); err != nil {
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
func (s *server) learn(key ed25519.PublicKey) {
	next := s.credential()
	if len(key) != ed25519.PublicKeySize || key.Equal(next.BuildKey) {
		return
	}
	if next.BuildKey != nil {
		s.log.Error("Muster signs builds with another key than the one this machine learned as it joined; that key stays, and new builds are refused. " +
			"Where the server has a new master key, remove credential.json from the agent's folder and join anew")
		return
	}
	next.BuildKey = key
	if err := s.store(next); err != nil {
		s.log.Error("the key that signs builds could not be kept; it is used until the agent ends", "error", err)
	}
	s.use(next)
	s.log.Info("learned the key that signs builds", "host_id", next.HostID)
}

// rejoin removes a credential that Muster refuses and joins again, if the agent can create
// a token itself; otherwise it returns refused.
func (s *server) rejoin(ctx context.Context, refused error) error {
	if s.opts.NewToken == nil {
		return refused
	}
	if err := os.Remove(filepath.Join(s.opts.Root, credentialFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget credential: %w", err)
	}
	me, err := s.identify(ctx)
	if err == nil {
		s.use(me)
	}
	return err
}

// credential returns the credential in use.
func (s *server) credential() credential {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.me
}

// use changes the credential in use.
func (s *server) use(me credential) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.me = me
}

// join exchanges the token for a credential. It retries while Muster cannot be reached;
// if the token is refused, it fails.
func (s *server) join(ctx context.Context) (credential, error) {
	body, err := json.Marshal(protocol.JoinRequest{Token: s.opts.Token, Facts: s.opts.Facts})
	if err != nil {
		return credential{}, fmt.Errorf("join: %w", err)
	}
	for wait := firstWait; ; wait = longer(wait) {
		c, final, err := s.tryJoin(ctx, body)
		if err == nil || final {
			return c, err
		}
		s.log.Warn("not joined yet", "error", err)
		s.next()
		if !wake.Sleep(ctx, jitter(wait)) {
			return c, errors.Join(ctx.Err(), err)
		}
	}
}

func (s *server) tryJoin(ctx context.Context, body []byte) (c credential, final bool, err error) {
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
		return c, res.StatusCode < 500 && res.StatusCode != http.StatusTooManyRequests, fmt.Errorf("join: %w", refusalOf(res))
	}
	var joined protocol.JoinResponse
	if err := json.NewDecoder(io.LimitReader(res.Body, protocol.MaxFrame)).Decode(&joined); err != nil {
		return c, false, fmt.Errorf("join: %w", err)
	}
	if joined.HostID == "" || joined.Secret == "" {
		return c, true, errors.New("join: Muster gave no credential")
	}
	return credential(joined), true, nil
}
