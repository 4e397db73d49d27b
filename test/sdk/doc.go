// Package sdk runs the libraries of sdk/ against a Muster, and holds each request
// that they make against the description of the API: what they send is
// documented, so that they work against Amazon GameLift as well.
package sdk
