// Package containers tests the built binary with real containers: the arena in an image
// without an operating system, from a registry, on a Docker engine of the tests' own.
//
// It needs root, dockerd with its client, and docker-registry (Debian: docker.io,
// docker-registry); without them its tests are skipped, and say so.
package containers
