package main

import (
	"os"
	"testing"

	"github.com/musterhq/muster/internal/heap"
)

// TestMain collects memory as the server does.
func TestMain(m *testing.M) {
	heap.Tune()
	os.Exit(m.Run())
}
