// Package sdk runs the libraries of sdk/ against a Muster, and checks each request that
// they send against the description of the API: they send only documented members, so
// that they also work with Amazon GameLift.
package sdk
