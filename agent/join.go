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

	"github.com/musterhq/muster/hosts/protocol"
)

// credential authenticates this host to Muster, and Muster's builds to this host.
type credential struct {
	HostID   string
	Secret   string
	Location string
	BuildKey ed25519.PublicKey `json:",omitempty"` // verifies signatures of builds; nil until it is learned
}

func (c credential) bearer() string { return "Bearer " + c.HostID + "." + c.Secret }

// credentialFile is the file of the credential below Root.
const credentialFile = "credential.json"

// HasJoined reports whether an agent's folder has a credential, so that no token is
// needed.
func HasJoined(root string) bool {
	_, err := os.Stat(filepath.Join(root, credentialFile))
	return err == nil
}

// keptCredential returns the credential on disk, or the zero value.
func (a *Agent) keptCredential() (c credential, err error) {
	err = readJSON(filepath.Join(a.opts.Root, credentialFile), &c)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return credential{}, fmt.Errorf("read credential: %w", err)
	}
	return c, nil
}

// identify returns the stored credential, or joins and stores the new one.
func (a *Agent) identify(ctx context.Context) (credential, error) {
	c, err := a.keptCredential()
	if err != nil || c.HostID != "" {
		return c, err
	}
	if a.opts.NewToken != nil {
		if a.opts.Token, err = a.opts.NewToken(); err != nil {
			return c, fmt.Errorf("make a join token: %w", err)
		}
	}
	if a.opts.Token == "" {
		return c, errors.New("this machine has not joined yet: give a join token (muster admin join-token makes one)")
	}
	if c, err = a.join(ctx); err != nil {
		return c, err
	}
	if err := a.keepCredential(c); err != nil {
		return c, err
	}
	a.log.Info("joined", "host_id", c.HostID, "location", c.Location)
	return c, nil
}

// keepCredential writes the credential to disk durably: without it the machine has no
// access.
func (a *Agent) keepCredential(c credential) error {
	if err := writeJSON(filepath.Join(a.opts.Root, credentialFile), c); err != nil {
		return fmt.Errorf("keep credential: %w", err)
	}
	if dir, err := os.Open(a.opts.Root); err == nil {
		_ = dir.Sync() // some systems cannot sync a folder, and need not
		dir.Close()
	}
	return nil
}

// renew stores the secret that Muster has sent to replace the host's, and acknowledges
// it; until then the old one is valid.
func (a *Agent) renew(secret string) {
	if secret == "" {
		return
	}
	next := a.identity()
	next.Secret = secret
	if err := a.keepCredential(next); err != nil {
		a.log.Error("a new credential could not be kept; the old one stays", "error", err)
		return
	}
	a.be(next)
	a.log.Info("the credential was replaced", "host_id", next.HostID)
	nudge(a.secretKept)
}

// learn stores the key with which Muster signs builds, received from an authenticated
// server, if this machine joined before there was one. A known key is never replaced:
// another one is ignored, and builds signed with it are refused.
func (a *Agent) learn(key ed25519.PublicKey) {
	next := a.identity()
	if len(key) != ed25519.PublicKeySize || key.Equal(next.BuildKey) {
		return
	}
	if next.BuildKey != nil {
		a.log.Error("Muster signs builds with another key than the one this machine learned as it joined; that key stays, and new builds are refused. " +
			"Where the server has a new master key, remove credential.json from the agent's folder and join anew")
		return
	}
	next.BuildKey = key
	if err := a.keepCredential(next); err != nil {
		a.log.Error("the key that signs builds could not be kept; it is used until the agent ends", "error", err)
	}
	a.be(next)
	a.log.Info("learned the key that signs builds", "host_id", next.HostID)
}

// rejoin removes a credential that Muster refuses and joins again if the agent can get
// a token itself; otherwise it returns refused.
func (a *Agent) rejoin(ctx context.Context, refused error) error {
	if a.opts.NewToken == nil {
		return refused
	}
	if err := os.Remove(filepath.Join(a.opts.Root, credentialFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget credential: %w", err)
	}
	me, err := a.identify(ctx)
	if err != nil {
		return err
	}
	a.be(me)
	return nil
}

// server returns the base URL of Muster in use.
func (a *Agent) server() string {
	all := a.opts.servers()
	if len(all) == 0 {
		return ""
	}
	return all[int(a.at.Load())%len(all)]
}

// nextServer switches to the next base URL, if there are several.
func (a *Agent) nextServer() { a.at.Add(1) }

// join exchanges the token for a credential. It retries while Muster cannot be reached;
// if the token is refused, it fails.
func (a *Agent) join(ctx context.Context) (credential, error) {
	body, err := json.Marshal(protocol.JoinRequest{Token: a.opts.Token, Facts: a.opts.Facts})
	if err != nil {
		return credential{}, fmt.Errorf("join: %w", err)
	}
	for wait := firstWait; ; wait = longer(wait) {
		c, final, err := a.tryJoin(ctx, body)
		if err == nil || final {
			return c, err
		}
		a.log.Warn("not joined yet", "error", err)
		a.nextServer()
		if !pause(ctx, jitter(wait)) {
			return c, errors.Join(ctx.Err(), err)
		}
	}
}

func (a *Agent) tryJoin(ctx context.Context, body []byte) (c credential, final bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.server()+protocol.PathJoin, bytes.NewReader(body))
	if err != nil {
		return c, true, fmt.Errorf("join: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := a.http.Do(req)
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

// refusalOf returns the error that a response without success describes.
func refusalOf(res *http.Response) error {
	var refusal protocol.Refusal
	text, _ := io.ReadAll(io.LimitReader(res.Body, 4096))
	if json.Unmarshal(text, &refusal) == nil && refusal.Message != "" {
		return fmt.Errorf("refused by Muster: %s (HTTP %d)", refusal.Message, res.StatusCode)
	}
	return fmt.Errorf("answered by Muster with HTTP %s", res.Status)
}

func readJSON(path string, to any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// writeJSON replaces a file atomically; only the agent's user may read it.
func writeJSON(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
