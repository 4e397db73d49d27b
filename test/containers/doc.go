// Package containers tests the built binary with real containers: the arena in an image
// without an operating system, from a registry, on container engines of the tests' own, in a
// network of their own.
//
// It needs root, dockerd with its client, Podman with what publishes its ports, and
// docker-registry (Debian: docker.io, podman, crun, runc, containernetworking-plugins,
// iptables, docker-registry); without them its tests are skipped, and say so.
package containers
