package main

import (
	"testing"

	"github.com/musterhq/muster/test/node"
)

// TestPush runs what `load push` measures with few players: the built server is killed while it
// notifies them of their matches, and each is notified once of what it did not know yet.
func TestPush(t *testing.T) {
	check(t, push(settings{n: 300, bin: node.Path(t)}))
}
