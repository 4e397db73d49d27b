package terraform

import (
	"testing"

	"github.com/musterhq/muster/internal/ziptest"
)

// archive returns a build's archive with a game server that uses no SDK.
func archive(t *testing.T) string {
	t.Helper()
	return string(ziptest.Make(t, map[string]string{"server.sh": "#!/bin/sh\n"}))
}
