// Package awsrpc serves an API of operations in AWS's two wire protocols, JSON
// 1.1 and RPC v2 CBOR, over one set of typed handlers.
//
// It owns everything between the socket and the handler: routing, limits,
// authentication, throttling, decoding, constraints, and on the way back
// encoding, the error envelope, one log record and the metrics of each request.
// What the API is about it learns from a shape.API; rules beyond the
// description's constraints live behind the handlers.
//
//	request → route → read body → authenticate → authorize → throttle
//	        → decode → check → handler → encode → answer
package awsrpc
