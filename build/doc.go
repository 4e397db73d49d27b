// Package build is what is hosted: builds and scripts.
//
// A build is an archive of a game server. It begins INITIALIZED; its archive
// comes by upload (with credentials that are good for that one object), or is
// copied from an object that is here already. When it is here it is checked
// (internal/archive), and the build is READY, or FAILED with the reason; FAILED too
// when nothing comes in time. A build that has its archive never gets another.
// Deleting a build hides it at once; its archive stays while a fleet runs it.
//
// A script is a zip file with a version: no status, replaced by UpdateScript.
//
// The bytes are in build/object. Status moves are in status.go and drawn in
// docs/state-machines.md.
package build
