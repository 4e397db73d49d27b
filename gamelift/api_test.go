package gamelift_test

import (
	"testing"

	"github.com/musterhq/muster/gamelift"
)

// Every operation models the two exceptions that the wire layer falls back to.
func TestAPI_EveryOperationModelsTheFallbacks(t *testing.T) {
	for _, op := range gamelift.API().Operations {
		if !op.Models("InternalServiceException") || !op.Models("InvalidRequestException") {
			t.Errorf("%s models %v", op.Name, op.Errors)
		}
	}
}
