// Package protocol defines the messages between game server processes and Muster on
// the Server SDK 5 WebSocket: one JSON object per text frame.
//
// A process sends requests; each is answered by one frame that repeats its
// Action and RequestId and has a StatusCode. Muster also sends pushes, which have
// an Action but neither of the other two, because AWS's SDKs take a frame with a
// RequestId for an answer and drop it (Server SDK 5 protocol, observed).
//
// Reading is lenient: unknown members are skipped and null counts as absent.
// Writing is exact: every member of a frame is always present, strings are never
// null, times are whole milliseconds since 1970, and game properties are an
// object (in the control-plane API they are a list).
package protocol
