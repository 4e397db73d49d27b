package main

import (
	"bytes"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// program builds a static program for a processor.
func program(t *testing.T, architecture string) string {
	t.Helper()
	dir := t.TempDir()
	source, out := filepath.Join(dir, "main.go"), filepath.Join(dir, "muster")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() { println(\"here\") }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-o", out, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+architecture)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

// The image for two processors goes to a registry, and is the same each time.
func TestRun(t *testing.T) {
	platforms := []string{"linux/amd64=" + program(t, "amd64"), "linux/arm64=" + program(t, "arm64")}
	server := httptest.NewServer(registry.New())
	defer server.Close()
	to := strings.TrimPrefix(server.URL, "http://") + "/muster:v0.1.0"
	var files [2][]byte
	for n := range files {
		out := filepath.Join(t.TempDir(), "image.tar")
		if err := run(append([]string{"-version", "v0.1.0", "-created", "2026-11-24T12:00:00+01:00", "-o", out, "-push", to}, platforms...)); err != nil {
			t.Fatal(err)
		}
		var err error
		if files[n], err = os.ReadFile(out); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("the image differs when it is made again")
	}
	ref, err := name.ParseReference(to)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(ref)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 2 {
		t.Fatalf("the registry has %+v, %v; want an index of two images", manifest, err)
	}
	for n, architecture := range []string{"amd64", "arm64"} {
		image, err := index.Image(manifest.Manifests[n].Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Architecture != architecture || config.Config.User != "65532:65532" || config.Created.Format("15:04Z") != "11:00Z" {
			t.Errorf("image %d is for %s, user %s, of %s", n, config.Architecture, config.Config.User, config.Created)
		}
	}
}

func TestRun_Refuses(t *testing.T) {
	out := filepath.Join(t.TempDir(), "image.tar")
	text := filepath.Join(t.TempDir(), "muster")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	arm := program(t, "arm64")
	for want, args := range map[string][]string{
		"neither -o nor -push": {"linux/amd64=" + text},
		"no platform":          {"-o", out},
		"want OS/ARCHITECTURE": {"-o", out, "amd64=" + text},
		"no program for Linux": {"-o", out, "linux/amd64=" + text},
		"not for amd64":        {"-o", out, "linux/amd64=" + arm},
		"-created":             {"-o", out, "-created", "yesterday", "linux/arm64=" + arm},
	} {
		if err := run(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", args, err, want)
		}
	}
}
