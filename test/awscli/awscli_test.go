package awscli

import (
	"testing"

	"github.com/musterhq/muster/test/story"
)

func TestStory(t *testing.T) { play(t, "story.sh") }

func TestPlacement(t *testing.T) { play(t, "placement.sh") }

func TestMatchmaking(t *testing.T) { play(t, "matchmaking.sh") }

func TestBuild(t *testing.T) { play(t, "build.sh") }

func play(t *testing.T, script string) {
	story.Needs(t, "aws", "the AWS CLI is missing; install awscli to run this")
	story.Needs(t, "bash", "bash is missing")
	story.New(t).Play(t, nil, "bash", script)
}
