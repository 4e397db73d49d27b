// Package boto3 runs the central story with boto3 against the built binary: in AWS JSON
// 1.1, which boto3 prefers, and in Smithy RPC v2 CBOR, which it speaks when the
// service's model lists no other protocol.
package boto3
