package awscli

import (
	"testing"

	"github.com/musterhq/muster/test/story"
)

func TestStory(t *testing.T) {
	story.Needs(t, "aws", "the AWS CLI is missing; install awscli to run this")
	story.Needs(t, "bash", "bash is missing")
	story.New(t).Play(t, nil, "bash", "story.sh")
}
