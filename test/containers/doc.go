// Package containers tests the built binary with real containers: the arena in an image
// without an operating system, on a Docker engine of the tests' own.
//
// It needs root and dockerd with its client (Debian: docker.io); without them its tests
// are skipped, and say so.
package containers
