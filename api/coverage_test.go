package api_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/shape"
)

var update = flag.Bool("update", false, "write docs/coverage.md anew")

// docs/coverage.md lists exactly the operations that are served: it is generated from
// the registered handlers. Each test that it names calls the operation, and it names one at
// least; with -update it names all, so that a new test elsewhere does not make it wrong.
func TestCoverage_DocumentIsTrue(t *testing.T) {
	const document = "../docs/coverage.md"
	srv, err := awsrpc.New(awsrpc.Options{API: gamelift.API(), Authenticate: awsrpc.Anyone{}})
	if err != nil {
		t.Fatal(err)
	}
	api.Register(srv, api.Services{})
	got, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	called := callers(t, "..", string(got))
	for _, name := range srv.Handled() {
		if len(called[name]) == 0 {
			t.Errorf("no test calls %s through a client of others", name)
		}
	}
	if !*update {
		for op, links := range called {
			if named := slices.DeleteFunc(slices.Clone(links), func(link string) bool { return !inRow(string(got), op, link) }); len(named) > 0 {
				called[op] = named
			}
		}
	}
	want := coverageMarkdown(srv.Handled(), called)
	if *update {
		if err := os.WriteFile(document, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		got = []byte(want)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/coverage.md is not what the handlers say; run make generate (-want +got):\n%s", diff)
	}
}

// coverageMarkdown returns docs/coverage.md: every operation of the API by
// family, whether it is among the registered ones, and the tests that call it.
func coverageMarkdown(registered []string, callers map[string][]string) string {
	var b strings.Builder
	operations := gamelift.API().Operations
	fmt.Fprintf(&b, "# Coverage of the Amazon GameLift API 2015-10-01\n\n"+
		"Generated from the operation table, the registered handlers and the tests; do not edit.\n\n"+
		"%d of %d operations are served. What differs from AWS is in divergences.md.\n\n"+
		"The last column leads to the tests that call the operation through other people's clients:\n"+
		"the AWS CLI (test/awscli), boto3 (test/boto3), AWS's client for JavaScript (test/js), the\n"+
		"Terraform provider (test/terraform), and AWS's client for Go (the others). Of several files\n"+
		"of a folder it names one. Besides, test/conformance sends each operation bad input in both\n"+
		"protocols.\n",
		count(operations, registered), len(operations))
	for len(operations) > 0 {
		n := familyLen(operations)
		writeFamily(&b, operations[:n], registered, callers)
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

func writeFamily(b *strings.Builder, ops []shape.Operation, registered []string, callers map[string][]string) {
	fmt.Fprintf(b, "\n## %s (%d of %d)\n\n| operation | served | exceptions it models | proved by |\n|---|---|---|---|\n",
		ops[0].Family, count(ops, registered), len(ops))
	for _, op := range ops {
		served := "no"
		if slices.Contains(registered, op.Name) {
			served = "yes"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", op.Name, served, strings.Join(exceptions(op), ", "), strings.Join(callers[op.Name], ", "))
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
