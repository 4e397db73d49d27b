package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Muster can be installed by its path and version alone, as `go install` does it:
// outside the workspace, from what the tags hold. Other modules come from the cache of the
// machine, or from where it gets modules: outside the workspace a few are older than in it.
func TestRelease_CanBeInstalled(t *testing.T) {
	t.Parallel()
	top := strings.TrimSpace(output(t, ".", nil, "git", "rev-parse", "--show-toplevel"))
	dir := t.TempDir()
	clone, proxy, bin := filepath.Join(dir, "clone"), filepath.Join(dir, "proxy"), filepath.Join(dir, "bin")
	output(t, dir, nil, "git", "clone", "--quiet", top, clone)
	const version = "v0.1.0"
	for _, folder := range folders {
		tag := filepath.ToSlash(filepath.Join(folder, version))
		output(t, clone, nil, "git", "tag", tag)
	}
	if err := release(clone, version, proxy); err != nil {
		t.Fatal(err)
	}
	cache := strings.TrimSpace(output(t, ".", nil, "go", "env", "GOMODCACHE"))
	usual := strings.TrimSpace(output(t, ".", nil, "go", "env", "GOPROXY"))
	env := append(os.Environ(),
		"GOPROXY=file://"+proxy+",file://"+filepath.Join(cache, "cache", "download")+","+usual, "GOSUMDB=off", "GOWORK=off",
		"GOMODCACHE="+filepath.Join(dir, "modules"), "GOFLAGS=-modcacherw -trimpath", "GOBIN="+bin)
	output(t, dir, env, "go", "install", root+"/cmd/muster@"+version)
	program := filepath.Join(bin, "muster")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if out := output(t, dir, nil, program, "version"); !strings.HasPrefix(out, "muster "+version+" ") {
		t.Errorf("the installed program says it is %q", out)
	}
}

func TestRelease_NeedsTags(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	output(t, dir, nil, "git", "init", "--quiet")
	if err := release(dir, "v9.9.9", filepath.Join(dir, "proxy")); err == nil || !strings.Contains(err.Error(), "v9.9.9") {
		t.Errorf("got %v, want an error that names the tag", err)
	}
	if err := release(dir, "9", filepath.Join(dir, "proxy")); err == nil {
		t.Error("9 was taken for a version")
	}
}

func output(t *testing.T, dir string, env []string, command string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), command, args...)
	cmd.Dir, cmd.Env = dir, env
	var errors strings.Builder
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", command, strings.Join(args, " "), err, errors.String())
	}
	return string(out)
}
