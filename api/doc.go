// Package api is the AWS control-plane API: one handler an operation, one file
// a resource. A handler maps the wire's shape to the domain's, makes one call,
// and maps the answer back; rules live in the domain. Members' own constraints
// (required, lengths, patterns, values) are checked before a handler runs.
//
//go:generate go test -count=1 -run TestCoverage_DocumentIsTrue -update .
package api
