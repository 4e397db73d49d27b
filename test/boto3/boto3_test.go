package boto3

import (
	"os"
	"os/exec"
	"strings"
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

// Each story is played in both protocols, if the installed boto3 knows protocol and operations.
func TestStories(t *testing.T) {
	for _, script := range []string{"story", "groups", "containers", "containerfleets"} {
		for protocol, need := range map[string]func(*testing.T){"json": needBoto3, "cbor": needCBOR} {
			t.Run(script+"/"+protocol, func(t *testing.T) {
				need(t)
				if strings.HasPrefix(script, "container") {
					needContainers(t)
				}
				story.New(t).Play(t, nil, "python3", script+".py", protocol)
			})
		}
	}
}

func needBoto3(t *testing.T) {
	t.Helper()
	python(t, "import boto3", "boto3 is missing; install python3-boto3 to run this")
}

func needCBOR(t *testing.T) {
	t.Helper()
	python(t, "import boto3, botocore.serialize as s; s.SERIALIZERS['smithy-rpc-v2-cbor']", "this botocore does not know CBOR; a newer boto3 is needed")
}

// needContainers skips the test if boto3 is from before the operations on containers.
func needContainers(t *testing.T) {
	t.Helper()
	python(t, "import boto3; boto3.client('gamelift', 'us-east-1', aws_access_key_id='k', aws_secret_access_key='s').list_container_group_definition_versions",
		"boto3 is missing or does not know container group definitions; a newer one is needed")
}

func TestFleet(t *testing.T) {
	needBoto3(t)
	if os.Getenv("ARENA_BIN") == "" {
		t.Skip("set ARENA_BIN to a built arena, as `make e2e` does, to run this")
	}
	story.New(t).Play(t, nil, "python3", "fleet.py")
}

func TestElsewhere(t *testing.T) {
	needBoto3(t)
	story.New(t).Play(t, nil, "python3", "elsewhere.py")
}
