// Package sniff serves TLS and plain connections on one port, distinguished by their
// first byte, and creates a certificate for it if there is none.
//
// One endpoint must serve all of AWS's game server SDKs: the C++ SDK uses TLS
// whatever its URL says and does not verify the certificate; the Go SDK uses what the
// URL says and does verify.
package sniff
