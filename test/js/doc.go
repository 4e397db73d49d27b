// Package js runs the central story with AWS's JavaScript SDK against the built binary:
// in AWS JSON 1.1, the SDK's default, and in Smithy RPC v2 CBOR, an option of it.
package js
