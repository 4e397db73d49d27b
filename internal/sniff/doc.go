// Package sniff serves TLS and plain connections on one port, told apart by
// their first byte, and makes the certificate for it where there is none.
//
// One endpoint has to serve all of AWS's game server SDKs: the C++ SDK speaks
// TLS whatever its URL says and does not verify, and the Go SDK speaks what the
// URL says and does verify.
package sniff
