package identity

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
)

// keySet holds the published keys of an issuer, read when needed.
type keySet struct {
	config ProviderConfig
	client *http.Client

	mu    sync.Mutex // held while the keys are being read: all that need them wait for one read
	url   string     // of the key set, once known
	keys  []jose.JSONWebKey
	until time.Time // how long the keys may be trusted
	read  time.Time // when a read was last tried
}

const (
	keysLast     = 5 * time.Minute  // at least, whatever the issuer says
	keysLastMost = 24 * time.Hour   // at most
	rereadEvery  = 30 * time.Second // at most, for unknown keys
	retryEvery   = time.Second      // at most, while the issuer does not answer
)

var (
	errNoKey    = errors.New("no such key")
	errRejected = errors.New("the provider refused the request") // rather than failed
)

func newKeySet(c ProviderConfig, client *http.Client) *keySet {
	return &keySet{config: c, client: client, url: c.KeySetURL}
}

// find returns the key for a kid and algorithm. An unknown kid makes it read the keys
// again, since the issuer may have rotated them.
func (s *keySet) find(ctx context.Context, kid, algorithm string) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	key, known := s.lookup(kid, algorithm)
	fresh, wait := now.Before(s.until), rereadEvery
	if !fresh {
		wait = retryEvery
	}
	if !(known && fresh) && now.Sub(s.read) >= wait {
		s.read = now
		if err := s.reread(ctx, now); err != nil {
			return nil, err
		}
		key, known = s.lookup(kid, algorithm)
		fresh = true
	}
	switch {
	case !fresh:
		return nil, errors.New("the key set could not be read a moment ago")
	case !known:
		return nil, errNoKey
	}
	return key, nil
}

// lookup returns a key that may verify the algorithm. A token without a kid matches
// if there is only one key.
func (s *keySet) lookup(kid, algorithm string) (any, bool) {
	for _, k := range s.keys {
		if k.KeyID != kid && (kid != "" || len(s.keys) != 1) {
			continue
		}
		if (k.Algorithm == "" || k.Algorithm == algorithm) && (k.Use == "" || k.Use == "sig") && k.IsPublic() && k.Valid() {
			return k.Key, true
		}
	}
	return nil, false
}

func (s *keySet) reread(ctx context.Context, now time.Time) error {
	if s.url == "" {
		if err := s.discover(ctx); err != nil {
			return err
		}
	}
	var set jose.JSONWebKeySet
	header, err := get(ctx, s.client, s.url, &set)
	if err != nil {
		return err
	}
	s.keys, s.until = set.Keys, now.Add(lasts(header))
	return nil
}

// discover finds the key set's URL (OpenID Connect Discovery, 4).
func (s *keySet) discover(ctx context.Context) error {
	var document struct {
		Issuer  string `json:"issuer"`
		KeysURL string `json:"jwks_uri"`
	}
	if _, err := get(ctx, s.client, strings.TrimSuffix(s.config.Issuer, "/")+"/.well-known/openid-configuration", &document); err != nil {
		return err
	}
	if document.Issuer != s.config.Issuer {
		return fmt.Errorf("discovery document of %s names the issuer %q", s.config.Issuer, document.Issuer)
	}
	if err := checkURL("jwks_uri", document.KeysURL); err != nil {
		return err
	}
	s.url = document.KeysURL
	return nil
}

func get(ctx context.Context, client *http.Client, url string, into any) (http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return call(client, request, into)
}

// call sends a request and reads a JSON answer of limited size.
func call(client *http.Client, request *http.Request, into any) (http.Header, error) {
	request.Header.Set("Accept", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode/100 == 4 && response.StatusCode != http.StatusTooManyRequests:
		return nil, errRejected
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("answered with status %d", response.StatusCode)
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	}
	return response.Header, json.Unmarshal(body, into, json.MatchCaseInsensitiveNames(false))
}

// lasts returns the max-age (RFC 9111, 5.2.2.1) within our limits.
func lasts(h http.Header) time.Duration {
	for directive := range strings.SplitSeq(h.Get("Cache-Control"), ",") {
		if text, ok := strings.CutPrefix(strings.TrimSpace(directive), "max-age="); ok {
			if seconds, err := strconv.Atoi(text); err == nil {
				return min(max(time.Duration(seconds)*time.Second, keysLast), keysLastMost)
			}
		}
	}
	return keysLast
}
