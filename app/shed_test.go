package app_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/internal/wait"
)

// pause makes the database of an app wait for its lock; the returned function lets it
// continue.
func pause(t *testing.T, a *app.App) (resume func()) {
	t.Helper()
	db := must(sql.Open("sqlite", filepath.Join(a.DataDir(), "muster.db")))(t)
	conn := must(db.Conn(t.Context()))(t)
	must(conn.ExecContext(t.Context(), "BEGIN IMMEDIATE"))(t)
	return sync.OnceFunc(func() {
		if _, err := conn.ExecContext(context.Background(), "ROLLBACK"); err != nil {
			t.Error(err)
		}
		conn.Close()
		db.Close()
	})
}

// While many changes wait for the database, those of the API and of players are refused,
// to be tried again, and those of machines are not.
func TestShedding(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) { o.Store = "sqlite" })
	token := must(a.JoinToken(t.Context()))(t)
	h := a.Handler()
	send := func(path, target, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", "http://localhost"+path, strings.NewReader(body))
		if target != "" {
			r.Header.Set("X-Amz-Target", "GameLift."+target)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	create := func(n int) *httptest.ResponseRecorder {
		return send("/", "CreateLocation", fmt.Sprintf(`{"LocationName":"custom-%d"}`, n))
	}
	waiting := func(n int) func() bool {
		return func() bool { return metric(t, direct, a.URL(), "muster_store_pending") == fmt.Sprint(n) }
	}
	resume := pause(t, a)
	defer resume()
	const room = 8192 / 4 * 3
	var writing sync.WaitGroup
	var beside atomic.Int64 // refused since a loop of the server's own writes meanwhile
	for n := range room {
		writing.Go(func() {
			w := create(n)
			if strings.Contains(w.Body.String(), "Try again") && beside.Add(1) <= 2 {
				return
			}
			if w.Code != http.StatusOK {
				t.Errorf("write %d, which waited: %d %s", n, w.Code, w.Body)
			}
		})
	}
	wait.Until(t, "as many changes wait as may", waiting(room))
	w := create(room)
	if text := w.Body.String(); !strings.Contains(text, "Try again") || !strings.Contains(text, "ThrottlingException") && !strings.Contains(text, "InternalServiceException") {
		t.Errorf("one write of the API too many: %d %s", w.Code, text)
	}
	if w := send("/player/v1/auth/guest", "", ""); w.Code != http.StatusServiceUnavailable && w.Code != http.StatusInternalServerError {
		t.Errorf("a write of a player: %d %s", w.Code, w.Body)
	}
	if w := send("/admin/v1/keys", "", `{"name":"k","role":"operator"}`); w.Code != http.StatusTooManyRequests && w.Code != http.StatusInternalServerError {
		t.Errorf("a write of an administrator: %d %s", w.Code, w.Body)
	}
	joined := make(chan int)
	go func() {
		status, _ := askToJoin(t, a, token)
		joined <- status
	}()
	wait.Until(t, "the join waits beside them", waiting(room+1))
	resume()
	if status := <-joined; status != http.StatusOK {
		t.Errorf("a machine that joined while they waited: %d", status)
	}
	writing.Wait()
	if w := create(room); w.Code != http.StatusOK {
		t.Errorf("a write of the API, with room again: %d %s", w.Code, w.Body)
	}
	if n := metric(t, direct, a.URL(), `muster_store_refused_total{yields="true"}`); n != fmt.Sprint(3+beside.Load()) {
		t.Errorf("%s commands that yield are refused, want 3 and %d", n, beside.Load())
	}
}
