// Package container manages container group definitions: which containers run together,
// with which images and limits.
//
// A definition is a name with versions. Creating and updating add a version, which never
// changes afterward except for its status: it is COPYING until the digest of each image is
// known, then READY, or FAILED with the reason. Fleets run images by their digests, so a
// version means the same everywhere and forever, whatever becomes of a tag.
//
// The rules that a version must keep are in check.go. Status moves are in status.go and
// drawn in docs/state-machines.md.
package container
