// Package protocol contains the messages of Muster's player API, generated from its
// OpenAPI description, for package player, for callers who need what that does not
// cover, and for the server.
package protocol
