// Package awsrpc serves an API in AWS's two wire protocols, JSON 1.1 and RPC v2 CBOR,
// with one set of typed handlers.
//
// It does everything between the socket and the handler: routing, limits,
// authentication, throttling, decoding, constraints; then encoding, the error envelope,
// and one log record and the metrics of each request. The API is described by a
// shape.API; rules beyond the description's constraints are the handlers' task.
//
//	request → route → read body → authenticate → authorize → throttle
//	        → decode → check → handler → encode → answer
package awsrpc
