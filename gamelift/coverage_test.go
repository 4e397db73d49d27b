package gamelift_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/gamelift"
)

func TestCoverageMarkdown(t *testing.T) {
	text := gamelift.CoverageMarkdown([]string{"CreateAlias", "AcceptMatch", "NoOperation"})
	for _, want := range []string{
		"\n2 of 120 operations are served.",
		"\n## Aliases (1 of 6)\n",
		"\n| CreateAlias | yes | Conflict, LimitExceeded, TaggingFailed, Unauthorized |\n",
		"\n| DeleteAlias | no | NotFound, TaggingFailed, Unauthorized |\n",
		"\n## Fleets (0 of 18)\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text[:600])
		}
	}
	if rows := strings.Count(text, " | no | ") + strings.Count(text, " | yes | "); rows != 120 {
		t.Errorf("%d rows, want 120", rows)
	}
}

// Every operation models the two exceptions that the wire layer falls back to.
func TestAPI_EveryOperationModelsTheFallbacks(t *testing.T) {
	for _, op := range gamelift.API().Operations {
		if !op.Models("InternalServiceException") || !op.Models("InvalidRequestException") {
			t.Errorf("%s models %v", op.Name, op.Errors)
		}
	}
}
