// Package host is the agent that `muster local` runs in its own process, and its
// connection to the domain: the fleet of a developer's own game server (--exec), tokens
// for its processes, and reports of how they ended.
package host
