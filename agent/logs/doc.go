// Package logs packs the logs of ended game server processes into archives of bounded size,
// and returns the end of an output, in a file or in an archive.
package logs
