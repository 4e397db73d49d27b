// Package dedicated hosts dedicated servers of Debian as they are, without an SDK: each is ready
// when players can join, ends when it is asked to, and when it is killed the game session says so.
// A server that is not installed is skipped.
package dedicated
