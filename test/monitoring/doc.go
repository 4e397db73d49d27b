// Package monitoring tests the dashboards and alert rules in deploy/: a real Prometheus reads
// a real server, on which bots play, and evaluates every query.
package monitoring
