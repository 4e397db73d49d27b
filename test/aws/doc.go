// Package aws is the black-box suite with AWS's Go SDK, which speaks the Smithy RPC v2
// CBOR protocol: every operation that Muster implements, errors as the SDK's typed
// exceptions, pagination with its paginators, and each status of sessions, with game
// servers that speak the Server SDK 5 protocol. Muster runs in the test's process.
package aws
