// Package aws is the black-box suite through AWS's Go SDK, which speaks the
// Smithy RPC v2 CBOR protocol: every operation that Muster answers, the errors as
// the SDK's typed exceptions, pagination through its paginators, and each status
// that sessions go through, with game servers that speak the Server SDK 5
// protocol. Muster runs in the test's process.
package aws
