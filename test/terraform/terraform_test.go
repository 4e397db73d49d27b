package terraform

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/test/node"
)

// mirrors returns the folders that may contain the provider in registry layout: the one
// that TF_PLUGIN_DIR names, and the usual places of Terraform's mirrors.
func mirrors() []string {
	home, _ := os.UserHomeDir()
	return []string{
		os.Getenv("TF_PLUGIN_DIR"), "/opt/tf-plugins", "/usr/local/share/terraform/plugins", "/usr/share/terraform/plugins",
		filepath.Join(home, ".terraform.d", "plugins"), filepath.Join(home, ".local", "share", "terraform", "plugins"),
	}
}

// installed returns the program and the mirror that has the AWS provider, or skips
// the test: nothing is downloaded.
func installed(t *testing.T) (program, mirror string) {
	t.Helper()
	program, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("terraform is not installed")
	}
	for _, dir := range mirrors() {
		found, err := filepath.Glob(filepath.Join(dir, "registry.terraform.io", "hashicorp", "aws", "*"))
		if dir != "" && err == nil && len(found) > 0 {
			return program, dir
		}
	}
	t.Skip("Terraform's AWS provider is in none of the usual plugin folders; TF_PLUGIN_DIR names another")
	return "", ""
}

// workspace is a folder in which Terraform runs.
type workspace struct {
	*testing.T
	program, dir string
	url          string // of Muster, or of the recorder in front of it
	recorder     *recorder
	env          []string
}

func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	program, mirror := installed(t)
	server := node.Start(t, "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--log-level", "warn")
	w := &workspace{T: t, program: program, dir: t.TempDir(), url: server.URL}
	if *recording {
		w.recorder = newRecorder(t, server.URL)
		w.url = w.recorder.server.URL
	}
	w.write("terraformrc", fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror))
	w.write("provider.tf", fmt.Sprintf(providerConfig, w.url))
	for _, keep := range []string{"PATH", "HOME", "TMPDIR"} {
		w.env = append(w.env, keep+"="+os.Getenv(keep))
	}
	w.env = append(w.env, "TF_CLI_CONFIG_FILE="+filepath.Join(w.dir, "terraformrc"), "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1",
		"AWS_EC2_METADATA_DISABLED=true", "AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=any")
	w.run("init", "-no-color", "-input=false")
	return w
}

const providerConfig = `
terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}
provider "aws" {
  region                      = "us-east-1"
  skip_credentials_validation = true
  skip_requesting_account_id  = true
  skip_metadata_api_check     = true
  s3_use_path_style           = true
  endpoints {
    autoscaling = %[1]q
    gamelift    = %[1]q
    s3          = %[1]q
  }
}
`

func (w *workspace) write(name, text string) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

// try runs Terraform and returns its exit code and output.
func (w *workspace) try(args ...string) (int, string) {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), w.program, args...)
	cmd.Dir, cmd.Env = w.dir, w.env
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// step ends a step of a recording.
func (w *workspace) step(name string) {
	w.Helper()
	if w.recorder != nil {
		w.recorder.step(name)
	}
}

func (w *workspace) run(args ...string) {
	w.Helper()
	if code, out := w.try(args...); code != 0 {
		w.Fatalf("terraform %s: exit code %d\n%s", strings.Join(args, " "), code, out)
	}
}

// apply applies a configuration, and then checks that a plan has nothing left to do.
func (w *workspace) apply(config string) {
	w.Helper()
	w.write("main.tf", config)
	w.run("apply", "-no-color", "-input=false", "-auto-approve")
	w.step("apply")
	if code, out := w.try("plan", "-no-color", "-input=false", "-detailed-exitcode"); code != 0 {
		w.Errorf("a plan right after apply is not empty (exit code %d):\n%s", code, out)
	}
	w.step("plan")
}

// beginDestroy leaves the fleets as an interrupted destroy does: DELETING.
func (w *workspace) beginDestroy() {
	w.Helper()
	c := &client.Client{Endpoint: w.url}
	var fleets struct{ FleetIDs []string }
	if err := c.Call(w.Context(), "ListFleets", struct{}{}, &fleets); err != nil || len(fleets.FleetIDs) == 0 {
		w.Fatalf("fleets %v, %v", fleets, err)
	}
	for _, id := range fleets.FleetIDs {
		if err := c.Call(w.Context(), "DeleteFleet", map[string]string{"FleetId": id}, nil); err != nil {
			w.Fatal(err)
		}
	}
	w.step("begin-destroy")
}

// resources has one resource of each kind that the provider and Muster support, some
// with and some without optional arguments. NAME, DESCRIPTION and TIMEOUT stand for
// values that change.
const resources = `
resource "aws_s3_bucket" "builds" {
  bucket        = "builds"
  force_destroy = true
}
resource "aws_s3_object" "archive" {
  bucket = aws_s3_bucket.builds.bucket
  key    = "server.zip"
  source = "server.zip"
}
resource "aws_s3_object" "manual" {
  bucket              = aws_s3_bucket.builds.bucket
  key                 = "manual.txt"
  content             = "how to play NAME"
  content_type        = "text/plain; charset=utf-8"
  content_disposition = "attachment; filename=manual.txt"
  content_encoding    = "identity"
  content_language    = "en"
  cache_control       = "max-age=60"
  metadata            = { version = "NAME" }
}
resource "aws_gamelift_build" "server" {
  name             = "server NAME"
  operating_system = "AMAZON_LINUX_2023"
  storage_location {
    bucket   = aws_s3_bucket.builds.bucket
    key      = aws_s3_object.archive.key
    role_arn = "arn:aws:iam::000000000000:role/any"
  }
}
resource "aws_gamelift_script" "script" {
  name     = "script NAME"
  zip_file = "server.zip"
}
resource "aws_gamelift_fleet" "fleet" {
  name              = "fleet NAME"
  build_id          = aws_gamelift_build.server.id
  ec2_instance_type = "c5.large"
  DESCRIPTION
  runtime_configuration {
    server_process {
      concurrent_executions = 1
      launch_path           = "/local/game/server.sh"
      parameters            = "{{.NoSDK}}"
    }
  }
}
resource "aws_gamelift_alias" "alias" {
  name = "alias NAME"
  DESCRIPTION
  routing_strategy {
    type    = "TERMINAL"
    message = "NAME"
  }
}
resource "aws_gamelift_alias" "live" {
  name = "live NAME"
  routing_strategy {
    type    = "SIMPLE"
    fleet_id = aws_gamelift_fleet.fleet.id
  }
}
resource "aws_gamelift_game_session_queue" "timed" {
  name               = "timed"
  timeout_in_seconds = TIMEOUT
  destinations       = [aws_gamelift_fleet.fleet.arn]
}
resource "aws_gamelift_game_session_queue" "untimed" {
  name         = "untimed"
  destinations = [aws_gamelift_alias.live.arn]
  tags         = { version = "NAME" }
}
`

func version(name, description, timeout string) string {
	return strings.NewReplacer("NAME", name, "DESCRIPTION", description, "TIMEOUT", timeout).Replace(resources)
}

// A plan after each apply is empty: resources are created, changed, and given and
// deprived of descriptions; then all are destroyed, by a destroy that continues an
// interrupted one.
func TestTerraform(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write("server.zip", archive(t))
	w.apply(version("one", "", "60"))
	w.apply(version("two", "", "120"))
	w.apply(version("two", `description = "what it is"`, "120"))
	w.beginDestroy()
	w.run("destroy", "-no-color", "-input=false", "-auto-approve")
	w.step("destroy")
	if code, out := w.try("state", "list"); code != 0 || strings.TrimSpace(out) != "" {
		t.Errorf("left after destroy (exit code %d):\n%s", code, out)
	}
}
