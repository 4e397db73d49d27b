// Package host is the agent that `muster local` runs in its own process, and
// what it needs of the domain: the fleet of a developer's own game server
// (--exec), tokens for its processes, and word of how they ended.
package host
