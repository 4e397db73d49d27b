package console_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/console"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/wait"
)

// follow follows a view until the test ends, and returns the frames as they come.
func (b *bundle) follow(ctx context.Context, path string) *recorder {
	w := &recorder{ResponseRecorder: httptest.NewRecorder()}
	go b.console.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil).WithContext(ctx))
	return w
}

func frames(t *testing.T, w *recorder) (data []string) {
	t.Helper()
	for line := range strings.Lines(w.Body.String()) {
		var f struct {
			Data  json.RawMessage
			Error string
		}
		if strings.TrimSpace(line) == "" {
			data = append(data, "still")
			continue
		}
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		data = append(data, string(f.Data)+f.Error)
	}
	return data
}

// A view is sent now and when it has changed. Followers of the same view share the work.
func TestViews_Live(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, nil)
		var n, computed atomic.Int64
		var refused atomic.Bool
		b.console.Views(map[string]console.View{"number": {
			Allow: func(*http.Request, url.Values) (auth.Caller, error) {
				if refused.Load() {
					return auth.Caller{}, fault.New(fault.UnrecognizedClient, "the key was deleted")
				}
				return auth.Anybody(), nil
			},
			Data: func(context.Context, auth.Caller, url.Values) (any, error) {
				computed.Add(1)
				if n.Load() == 3 {
					return nil, fault.Missing("3 does not exist")
				}
				return n.Load(), nil
			},
		}})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		first := b.follow(ctx, "/console/api/live/number?every=1000")
		second := b.follow(ctx, "/console/api/live/number?every=1000")
		wait.Pass(3500 * time.Millisecond)
		if c := computed.Load(); c != 4 {
			t.Errorf("computed %d times in 3.5 s for two followers, want 4", c)
		}
		n.Store(1)
		wait.Pass(time.Second)
		n.Store(3)
		wait.Pass(3 * time.Second)
		n.Store(2)
		wait.Pass(time.Second)
		refused.Store(true)
		wait.Pass(10 * time.Second)
		synctest.Wait()
		for _, w := range []*recorder{first, second} {
			if got := strings.Join(frames(t, w), ","); got != "0,1,3 does not exist,2,the key was deleted" {
				t.Errorf("the frames are %s", got)
			}
		}
	})
}

// A view that takes long is computed less often than it is asked for.
func TestViews_Rest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, nil)
		var computed atomic.Int64
		b.console.Views(map[string]console.View{"slow": {
			Allow: func(*http.Request, url.Values) (auth.Caller, error) { return auth.Anybody(), nil },
			Data: func(context.Context, auth.Caller, url.Values) (any, error) {
				wait.Pass(40 * time.Millisecond)
				return computed.Add(1), nil
			},
		}})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		b.follow(ctx, "/console/api/live/slow?every=100")
		wait.Pass(20 * time.Second)
		if got := computed.Load(); got != 10 {
			t.Errorf("computed %d times in 20 s, want once in 2.1 s", got)
		}
		cancel()
		synctest.Wait()
	})
}

func TestViews_Refuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, nil)
		b.console.Views(map[string]console.View{"one": {
			Allow: func(_ *http.Request, q url.Values) (auth.Caller, error) {
				if q.Get("secret") != "" {
					return auth.Caller{}, fault.New(fault.AccessDenied, "not yours")
				}
				return auth.Anybody(), nil
			},
			Data: func(context.Context, auth.Caller, url.Values) (any, error) { return 1, nil },
		}})
		for path, want := range map[string]int{
			"/console/api/views/one":            http.StatusOK,
			"/console/api/views/two":            http.StatusNotFound,
			"/console/api/live/two":             http.StatusNotFound,
			"/console/api/views/one?secret=1":   http.StatusForbidden,
			"/console/api/live/one?secret=1":    http.StatusForbidden,
			"/console/api/live/one?every=5":     http.StatusBadRequest,
			"/console/api/live/one?every=20000": http.StatusBadRequest,
			"/console/api/nothing":              http.StatusNotFound,
			"/console/fleets":                   http.StatusOK,
			"/console/assets/nothing.js":        http.StatusNotFound,
		} {
			w := httptest.NewRecorder()
			b.console.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			if w.Code != want {
				t.Errorf("%s: %d, want %d", path, w.Code, want)
			}
		}
	})
}

// Those who may see different parts of a view never get each other's.
func TestViews_ByRole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, nil)
		b.console.Views(map[string]console.View{"mine": {
			Allow: func(r *http.Request, _ url.Values) (auth.Caller, error) {
				role := r.Header.Get("Role")
				return auth.Caller{KeyID: role, Role: auth.Role(role)}, nil
			},
			Data: func(_ context.Context, c auth.Caller, _ url.Values) (any, error) { return c.Role, nil },
		}})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		followers := map[auth.Role]*recorder{}
		for _, role := range []auth.Role{auth.Operator, auth.ReadOnly} {
			w := &recorder{ResponseRecorder: httptest.NewRecorder()}
			r := httptest.NewRequest(http.MethodGet, "/console/api/live/mine", nil).WithContext(ctx)
			r.Header.Set("Role", string(role))
			go b.console.ServeHTTP(w, r)
			followers[role] = w
		}
		wait.Pass(3 * time.Second)
		synctest.Wait()
		for role, w := range followers {
			if got := strings.Join(frames(t, w), ","); got != `"`+string(role)+`"` {
				t.Errorf("%s got %s", role, got)
			}
		}
	})
}
