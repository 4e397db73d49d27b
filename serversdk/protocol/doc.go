// Package protocol is what game server processes and Muster say to each other
// over the Server SDK 5 WebSocket: one JSON object a text frame.
//
// A process sends requests; each is answered by one frame that repeats its
// Action and RequestId and carries a StatusCode. Muster also sends pushes,
// which have an Action but neither of the two, because AWS's SDKs take a frame
// with a RequestId for an answer and drop it (Server SDK 5 protocol, observed).
//
// Reading is lenient: unknown members are skipped and null counts as absent.
// Writing is exact: every member of a frame is always there, strings are never
// null, times are whole milliseconds since 1970, and game properties are an
// object (the control-plane API has a list there).
package protocol
