package api_test

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
)

var update = flag.Bool("update", false, "write docs/coverage.md anew")

// docs/coverage.md lists exactly the operations that are served: it is generated from
// the registered handlers.
func TestCoverage_DocumentIsTrue(t *testing.T) {
	const document = "../docs/coverage.md"
	srv, err := awsrpc.New(awsrpc.Options{API: gamelift.API(), Authenticate: awsrpc.Anyone{}})
	if err != nil {
		t.Fatal(err)
	}
	api.Register(srv, api.Services{})
	want := gamelift.CoverageMarkdown(srv.Handled())
	if *update {
		if err := os.WriteFile(document, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/coverage.md is not what the handlers say; run make generate (-want +got):\n%s", diff)
	}
}
