package node

import (
	"context"
	"testing"
	"time"

	"github.com/musterhq/muster/app"
)

// InProcess starts an app that keeps its state in memory, listens on a free port and
// accepts any credentials, unless change sets other options. It stops with the test.
func InProcess(t testing.TB, change func(*app.Options)) *app.App {
	t.Helper()
	o := app.Options{Listen: "127.0.0.1:0", DataDir: t.TempDir(), Store: "memory", AcceptAny: true}
	if change != nil {
		change(&o)
	}
	a, err := app.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := a.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return a
}
