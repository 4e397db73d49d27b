// Package build manages what is hosted: builds and scripts.
//
// A build is an archive of a game server. It begins INITIALIZED; its archive is
// uploaded (with credentials for that one object), or copied from an object that is
// stored here. Then it is checked (internal/archive), and the build becomes READY, or
// FAILED with the reason. It also becomes FAILED if nothing arrives in time. A build
// that has its archive never gets another. Deleting a build hides it immediately; its
// archive stays while a fleet runs it.
//
// A script is a zip file with a version: no status, replaced by UpdateScript.
//
// The bytes are in build/object. Status moves are in status.go and drawn in
// docs/state-machines.md.
package build
