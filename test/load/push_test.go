package main

import (
	"testing"

	"github.com/musterhq/muster/test/node"
)

// TestPush runs what `load push` measures with few players: the built server is killed
// while it tells them of their matches, and all of them get to know, once, what they did
// not know yet.
func TestPush(t *testing.T) {
	check(t, push(settings{n: 300, bin: node.Path(t)}))
}
