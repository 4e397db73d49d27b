// Package conformance tests the wire: requests as AWS's clients were recorded to send
// them and the bytes of the answers, the envelope of errors in both protocols, the
// forms of timestamps, and bad input, which must change nothing.
package conformance
