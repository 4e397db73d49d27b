// Package api is the AWS control-plane API: one handler per operation, one file per
// resource. A handler maps the wire's types to the domain's, makes one call, and maps
// the result back; rules are in the domain. Constraints of single members (required,
// lengths, patterns, values) are checked before a handler runs.
//
//go:generate go test -count=1 -run TestCoverage_DocumentIsTrue -update .
package api
