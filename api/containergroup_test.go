package api

import (
	"reflect"
	"testing"

	"github.com/musterhq/muster/gamelift"
)

// What a request says of its containers is in the answer.
func TestContainer_RoundTrip(t *testing.T) {
	ports := &gamelift.ContainerPortConfiguration{ContainerPortRanges: []gamelift.ContainerPortRange{{FromPort: new(int32(1)), ToPort: new(int32(9)), Protocol: new("UDP")}}}
	capabilities := &gamelift.LinuxCapabilities{Include: []string{"SYS_NICE", "KILL"}}
	game := gameContainerOut(gameContainerIn(&gamelift.GameServerContainerDefinitionInput{
		ContainerName: new("game"), ImageUri: new("arena"), ServerSdkVersion: new("5.4.0"), PortConfiguration: ports, LinuxCapabilities: capabilities,
	}))
	if want := (&gamelift.GameServerContainerDefinition{
		ContainerName: new("game"), ImageUri: new("arena"), ServerSdkVersion: new("5.4.0"), PortConfiguration: ports, LinuxCapabilities: capabilities,
	}); !reflect.DeepEqual(game, want) {
		t.Errorf("the game server's container is %+v", game)
	}
	support := supportContainerOut(supportContainerIn(gamelift.SupportContainerDefinitionInput{
		ContainerName: new("log"), ImageUri: new("log"), Essential: new(true), LinuxCapabilities: capabilities,
	}))
	if want := (gamelift.SupportContainerDefinition{
		ContainerName: new("log"), ImageUri: new("log"), Essential: new(true), LinuxCapabilities: capabilities,
	}); !reflect.DeepEqual(support, want) {
		t.Errorf("the support container is %+v", support)
	}
}
