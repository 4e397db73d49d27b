// Package protocol has the messages of Muster's player API, generated from its
// OpenAPI description, for package player and for callers who want what that does
// not cover.
package protocol
