package app_test

import (
	"testing"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqlite"
)

// TestLost_StopsByItself checks an app whose cell another node takes.
func TestLost_StopsByItself(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) { o.Store = "sqlite" })
	thief := store.New(store.Options{Driver: sqlite.File(a.DataDir() + "/muster.db"), Owner: "thief"})
	check(t, thief.Open(t.Context()))
	defer thief.Close()
	c := &client.Client{Endpoint: a.URL()}
	if err := c.Call(t.Context(), "CreateLocation", map[string]any{"LocationName": "custom-a"}, nil); err == nil {
		t.Error("a write was acknowledged after the cell was taken")
	}
	<-a.Done()
	if a.Err() == nil {
		t.Error("done without saying why")
	}
	if status, _ := get(t, a.URL()+"/readyz"); status != 503 {
		t.Errorf("/readyz is %d after the cell was taken", status)
	}
}
