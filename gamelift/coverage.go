package gamelift

import (
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/shape"
)

// CoverageMarkdown returns docs/coverage.md: every operation of the API by
// family, and whether it is among the registered ones.
func CoverageMarkdown(registered []string) string {
	var b strings.Builder
	operations := API().Operations
	fmt.Fprintf(&b, "# Coverage of the Amazon GameLift API 2015-10-01\n\n"+
		"Generated from the operation table and the registered handlers; do not edit.\n\n"+
		"%d of %d operations are served. Of the others, those that list answer an empty list, those that describe or delete\n"+
		"NotFoundException, and the rest UnsupportedRegionException, or InvalidRequestException where the API does not model\n"+
		"that, with a message that says so. What differs from AWS is in divergences.md.\n",
		count(operations, registered), len(operations))
	for len(operations) > 0 {
		n := familyLen(operations)
		writeFamily(&b, operations[:n], registered)
		operations = operations[n:]
	}
	return b.String()
}

// familyLen returns the number of leading operations of one family.
func familyLen(ops []shape.Operation) int {
	n := 1
	for n < len(ops) && ops[n].Family == ops[0].Family {
		n++
	}
	return n
}

func writeFamily(b *strings.Builder, ops []shape.Operation, registered []string) {
	fmt.Fprintf(b, "\n## %s (%d of %d)\n\n| operation | served | exceptions it models |\n|---|---|---|\n",
		ops[0].Family, count(ops, registered), len(ops))
	for _, op := range ops {
		served := "no"
		if slices.Contains(registered, op.Name) {
			served = "yes"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", op.Name, served, strings.Join(exceptions(op), ", "))
	}
}

// exceptions returns the exceptions that an operation models beyond the common ones.
func exceptions(op shape.Operation) []string {
	var names []string
	for _, k := range op.Errors {
		name := strings.TrimSuffix(string(k), "Exception")
		if name != "InternalService" && name != "InvalidRequest" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func count(ops []shape.Operation, registered []string) int {
	n := 0
	for _, op := range ops {
		if slices.Contains(registered, op.Name) {
			n++
		}
	}
	return n
}
