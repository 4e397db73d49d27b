package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// The compose file is valid, and each file that it mounts is there.
func TestCompose(t *testing.T) {
	compose, err := exec.LookPath("docker-compose")
	if err != nil {
		t.Skip("docker-compose is not installed; apt-get install docker-compose")
	}
	dir := filepath.Join(deploy(t), "compose")
	cmd := exec.Command(compose, "--project-name", "muster", "config")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, err.(*exec.ExitError).Stderr)
	}
	var file struct {
		Services map[string]struct {
			Image   string
			Volumes []string
		}
	}
	if err := yaml.Unmarshal(out, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Services) != 5 {
		t.Errorf("there are %d services, want 5", len(file.Services))
	}
	for name, service := range file.Services {
		if service.Image == "" {
			t.Errorf("%s has no image", name)
		}
		for _, volume := range service.Volumes {
			if path, _, _ := strings.Cut(volume, ":"); filepath.IsAbs(path) {
				if _, err := os.Stat(path); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}

// Prometheus accepts its configuration, with the rules beside it as they are mounted.
func TestCompose_Prometheus(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed; apt-get install prometheus")
	}
	dir := t.TempDir()
	for _, name := range []string{"compose/prometheus.yml", "prometheus/muster-rules.yml"} {
		text, err := os.ReadFile(filepath.Join(deploy(t), name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(promtool, "check", "config", filepath.Join(dir, "prometheus.yml")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
