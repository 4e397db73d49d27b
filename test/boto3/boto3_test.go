package boto3

import (
	"os"
	"os/exec"
	"testing"

	"github.com/musterhq/muster/test/story"
)

// python skips the test if Python fails to run the given code.
func python(t *testing.T, expression, sentence string) {
	t.Helper()
	story.Needs(t, "python3", "python3 is missing")
	if err := exec.Command("python3", "-c", expression).Run(); err != nil {
		t.Skip(sentence)
	}
}

func TestStory_JSON(t *testing.T) { playJSON(t, "story.py") }

func TestStory_CBOR(t *testing.T) { playCBOR(t, "story.py") }

func TestGroups_JSON(t *testing.T) { playJSON(t, "groups.py") }

func TestGroups_CBOR(t *testing.T) { playCBOR(t, "groups.py") }

func TestContainers_JSON(t *testing.T) {
	needContainers(t)
	playJSON(t, "containers.py")
}

func TestContainers_CBOR(t *testing.T) {
	needContainers(t)
	playCBOR(t, "containers.py")
}

func TestContainerFleets_JSON(t *testing.T) {
	needContainers(t)
	playJSON(t, "containerfleets.py")
}

func TestContainerFleets_CBOR(t *testing.T) {
	needContainers(t)
	playCBOR(t, "containerfleets.py")
}

// needContainers skips the test if boto3 is from before the operations on containers.
func needContainers(t *testing.T) {
	t.Helper()
	python(t, "import boto3; boto3.client('gamelift', 'us-east-1', aws_access_key_id='k', aws_secret_access_key='s').list_container_group_definition_versions",
		"boto3 is missing or does not know container group definitions; a newer one is needed")
}

// playJSON plays a story in JSON.
func playJSON(t *testing.T, script string) {
	t.Helper()
	python(t, "import boto3", "boto3 is missing; install python3-boto3 to run this")
	story.New(t).Play(t, nil, "python3", script, "json")
}

// playCBOR plays a story in CBOR.
func playCBOR(t *testing.T, script string) {
	t.Helper()
	python(t, "import boto3, botocore.serialize as s; s.SERIALIZERS['smithy-rpc-v2-cbor']", "this botocore does not know CBOR; a newer boto3 is needed")
	story.New(t).Play(t, nil, "python3", script, "cbor")
}

func TestFleet(t *testing.T) {
	python(t, "import boto3", "boto3 is missing; install python3-boto3 to run this")
	if os.Getenv("ARENA_BIN") == "" {
		t.Skip("set ARENA_BIN to a built arena, as `make e2e` does, to run this")
	}
	story.New(t).Play(t, nil, "python3", "fleet.py")
}

func TestElsewhere(t *testing.T) {
	python(t, "import boto3", "boto3 is missing; install python3-boto3 to run this")
	story.New(t).Play(t, nil, "python3", "elsewhere.py")
}
