package backend

import (
	"context"
	"testing"
)

// A door that closes waits for who is in, and lets nobody else in: not even
// those who come back at once because they were sent away.
func TestSocketDoor_Close(t *testing.T) {
	t.Parallel()
	d := newSocketDoor()
	if !d.enter(2) {
		t.Fatal("there is room")
	}
	patience, over := context.WithCancel(t.Context())
	over()
	d.close(patience) // somebody is still in
	if d.enter(2) {
		t.Error("a closed door let somebody in")
	}
	d.leave()
	d.close(t.Context())
}
