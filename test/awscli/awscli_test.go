package awscli

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/musterhq/muster/test/story"
)

func TestStory(t *testing.T) { play(t, "story.sh") }

func TestPlacement(t *testing.T) { play(t, "placement.sh") }

func TestMatchmaking(t *testing.T) { play(t, "matchmaking.sh") }

func TestGroups(t *testing.T) { play(t, "groups.sh") }

func TestContainers(t *testing.T) { playContainers(t, "containers.sh") }

func TestContainerFleets(t *testing.T) { playContainers(t, "containerfleets.sh") }

// playContainers plays a script with operations that older releases of the AWS CLI lack.
func playContainers(t *testing.T, script string) {
	t.Helper()
	const operation = "list-container-group-definition-versions"
	story.Needs(t, "aws", "the AWS CLI is missing; install awscli to run this")
	if out, _ := exec.Command("aws", "gamelift", operation).CombinedOutput(); !strings.Contains(string(out), "required: --name") {
		t.Skip("this AWS CLI does not know " + operation + "; a newer one is needed")
	}
	play(t, script)
}

func TestBuild(t *testing.T) { play(t, "build.sh") }

func TestFleet(t *testing.T) {
	if os.Getenv("ARENA_BIN") == "" {
		t.Skip("set ARENA_BIN to a built arena, as `make e2e` does, to run this")
	}
	play(t, "fleet.sh")
}

func play(t *testing.T, script string) {
	story.Needs(t, "aws", "the AWS CLI is missing; install awscli to run this")
	story.Needs(t, "bash", "bash is missing")
	story.New(t).Play(t, nil, "bash", script)
}
