// Package logs packs the logs of ended game server processes into archives of bounded size.
package logs
