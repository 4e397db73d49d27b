package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/test/node"
)

// A file is applied in the region of --region, with keys or without.
func TestApply_Region(t *testing.T) {
	for _, key := range []string{"", "any"} {
		t.Setenv("AWS_ACCESS_KEY_ID", key)
		t.Setenv("AWS_SECRET_ACCESS_KEY", key)
		server := node.InProcess(t, func(o *app.Options) { o.Region, o.Regions = "", []string{"us-east-1", "eu-central-1"} })
		file := filepath.Join(t.TempDir(), "muster.yaml")
		if err := os.WriteFile(file, []byte("Locations: {custom-lab: {}}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		command := func(args ...string) string {
			t.Helper()
			var out bytes.Buffer
			args = append(args, "--endpoint", server.URL())
			if code := run(args, &streams{ctx: context.WithoutCancel(t.Context()), out: &out, err: &out, screen: io.Discard}); code != 0 {
				t.Fatalf("muster %s: exit code %d\n%s", strings.Join(args, " "), code, &out)
			}
			return out.String()
		}
		command("apply", "-f", file, "--yes", "--region", "eu-central-1")
		for region, want := range map[string]bool{"us-east-1": false, "eu-central-1": true} {
			if out := command("export", "--region", region); strings.Contains(out, "custom-lab") != want {
				t.Errorf("with the key %q, %s has\n%s", key, region, out)
			}
		}
	}
}
