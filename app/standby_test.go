package app_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
)

// messagesOnly writes the message of each record, and nothing else.
func messagesOnly(w *screen) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) > 0 || a.Key != slog.MessageKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// A standby has the state in memory, finds that it is the database's, and takes over with
// it.
func TestPostgres_WarmStandby(t *testing.T) {
	url := pgtest.Database(t)
	o := options(t, func(o *app.Options) { o.Store = url })
	first := start(t, func(c *app.Options) { *c = o })
	populate(t, first)
	log := newScreen()
	second := start(t, func(c *app.Options) {
		*c = o
		c.StandbyCheck, c.Logger = 50*time.Millisecond, messagesOnly(log)
	})
	log.await(t, `msg="the state is in memory, ready to take over"`)
	if status, body := get(t, second.URL()+"/readyz"); status != 200 || !strings.Contains(body, `"state":"warm"`) {
		t.Errorf("/readyz of the standby is %d %s", status, body)
	}
	call(t, second, "CreateLocation", map[string]any{"LocationName": "custom-after"})
	log.await(t, `msg="the state in memory is the database's"`)
	asked := newScreen()
	third := start(t, func(c *app.Options) { *c = o; c.Logger = messagesOnly(asked) })
	asked.await(t, `msg="the state is in memory, ready to take over"`)
	third.CheckStandbys()
	asked.await(t, `msg="the state in memory is the database's"`)
	if err := third.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	call(t, second, "ListLocations", map[string]any{}) // held until the second node serves
	log.await(t, `msg="the state was in memory"`)
	if second.Digest() != first.Digest() {
		t.Error("the second node has another state than the first wrote")
	}
	if _, body := get(t, second.URL()+"/readyz"); strings.Contains(body, `"state"`) {
		t.Errorf("/readyz of the owner is %s", body)
	}
}

// A standby that is told to keeps nothing in memory.
func TestPostgres_ColdStandby(t *testing.T) {
	o := options(t, func(o *app.Options) { o.Store = pgtest.Database(t) })
	first := start(t, func(c *app.Options) { *c = o })
	populate(t, first)
	log := newScreen()
	second := start(t, func(c *app.Options) { *c = o; c.ColdStandby, c.Logger = true, messagesOnly(log) })
	if status, body := get(t, second.URL()+"/readyz"); status != 200 || !strings.Contains(body, `"state":"cold"`) {
		t.Errorf("/readyz of the standby is %d %s", status, body)
	}
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	call(t, second, "ListLocations", map[string]any{})
	if second.Digest() != first.Digest() || strings.Contains(log.String(), "in memory") {
		t.Errorf("the second node took over with %s", log)
	}
}
