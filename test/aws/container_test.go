package aws

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/agent/engine/enginetest"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

const imageDigest = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// containerGroup describes a group with one game server container.
func containerGroup(name, image string) *gamelift.CreateContainerGroupDefinitionInput {
	return &gamelift.CreateContainerGroupDefinitionInput{
		Name: &name, OperatingSystem: types.ContainerOperatingSystemAmazonLinux2023,
		TotalMemoryLimitMebibytes: aws.Int32(1024), TotalVcpuLimit: aws.Float64(1.5),
		GameServerContainerDefinition: &types.GameServerContainerDefinitionInput{
			ContainerName: aws.String("game"), ImageUri: &image, ServerSdkVersion: aws.String("5.4.0"),
			PortConfiguration: &types.ContainerPortConfiguration{ContainerPortRanges: []types.ContainerPortRange{
				{FromPort: aws.Int32(7000), ToPort: aws.Int32(7010), Protocol: types.IpProtocolUdp},
			}},
		},
	}
}

// Versions of a container group definition are made, listed and deleted.
func TestContainerGroupDefinition(t *testing.T) {
	t.Parallel()
	c := node.Client(node.InProcess(t, nil).URL())
	ctx, name := t.Context(), aws.String("arena")
	in := containerGroup(*name, "registry.example/arena@"+imageDigest)
	in.VersionDescription, in.Tags = aws.String("first"), []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}
	in.SupportContainerDefinitions = []types.SupportContainerDefinitionInput{{
		ContainerName: aws.String("log"), ImageUri: aws.String("registry.example/log:1@" + imageDigest), Vcpu: aws.Float64(0.25), MemoryHardLimitMebibytes: aws.Int32(64),
		HealthCheck:         &types.ContainerHealthCheck{Command: []string{"CMD", "true"}, Interval: aws.Int32(60), Retries: aws.Int32(5), Timeout: aws.Int32(30)},
		DependsOn:           []types.ContainerDependency{{ContainerName: aws.String("game"), Condition: types.ContainerDependencyConditionStart}},
		MountPoints:         []types.ContainerMountPoint{{InstancePath: aws.String("/var/log"), AccessLevel: types.ContainerMountPointAccessLevelReadOnly}},
		EnvironmentOverride: []types.ContainerEnvironment{{Name: aws.String("LEVEL"), Value: aws.String("info")}},
	}}
	v := node.Must(c.CreateContainerGroupDefinition(ctx, in))(t).ContainerGroupDefinition
	log := v.SupportContainerDefinitions[0]
	if v.Status != types.ContainerGroupDefinitionStatusReady || *v.VersionNumber != 1 || *v.GameServerContainerDefinition.ResolvedImageDigest != imageDigest ||
		!strings.HasSuffix(*v.ContainerGroupDefinitionArn, ":containergroupdefinition/arena:1") || v.ContainerGroupType != types.ContainerGroupTypeGameServer ||
		*log.HealthCheck.Interval != 60 || *log.DependsOn[0].ContainerName != "game" || *log.MountPoints[0].InstancePath != "/var/log" ||
		*log.EnvironmentOverride[0].Value != "info" || *log.Essential || *log.Vcpu != 0.25 {
		t.Errorf("created %+v", v)
	}
	if tags := node.Must(c.ListTagsForResource(ctx, &gamelift.ListTagsForResourceInput{ResourceARN: v.ContainerGroupDefinitionArn}))(t).Tags; len(tags) != 1 {
		t.Errorf("tags %v", tags)
	}
	_, err := c.CreateContainerGroupDefinition(ctx, in)
	refused[*types.ConflictException](t, err, "arena")
	two := node.Must(c.UpdateContainerGroupDefinition(ctx, &gamelift.UpdateContainerGroupDefinitionInput{
		Name: v.ContainerGroupDefinitionArn, TotalVcpuLimit: aws.Float64(2), SupportContainerDefinitions: []types.SupportContainerDefinitionInput{},
	}))(t).ContainerGroupDefinition
	if *two.VersionNumber != 2 || *two.TotalVcpuLimit != 2 || len(two.SupportContainerDefinitions) != 0 || *two.VersionDescription != "first" {
		t.Errorf("updated %+v", two)
	}
	if got := node.Must(c.DescribeContainerGroupDefinition(ctx, &gamelift.DescribeContainerGroupDefinitionInput{Name: name, VersionNumber: aws.Int32(1)}))(t); *got.ContainerGroupDefinition.VersionNumber != 1 {
		t.Errorf("described %+v", got.ContainerGroupDefinition)
	}
	if all := node.Must(c.ListContainerGroupDefinitions(ctx, &gamelift.ListContainerGroupDefinitionsInput{ContainerGroupType: types.ContainerGroupTypeGameServer}))(t).ContainerGroupDefinitions; len(all) != 1 || *all[0].VersionNumber != 2 {
		t.Errorf("listed %+v", all)
	}
	if all := node.Must(c.ListContainerGroupDefinitions(ctx, &gamelift.ListContainerGroupDefinitionsInput{ContainerGroupType: types.ContainerGroupTypePerInstance}))(t).ContainerGroupDefinitions; len(all) != 0 {
		t.Errorf("of the other type are listed %+v", all)
	}
	versions := pages(t, gamelift.NewListContainerGroupDefinitionVersionsPaginator(c, &gamelift.ListContainerGroupDefinitionVersionsInput{Name: name, Limit: aws.Int32(1)}),
		"ContainerGroupDefinitions", "ContainerGroupDefinitionArn")
	if !slices.Equal(versions.items, []string{*two.ContainerGroupDefinitionArn, *v.ContainerGroupDefinitionArn}) {
		t.Errorf("versions %v, want the newest first", versions.items)
	}
	node.Must(c.DeleteContainerGroupDefinition(ctx, &gamelift.DeleteContainerGroupDefinitionInput{Name: name, VersionCountToRetain: aws.Int32(1)}))(t)
	_, err = c.DescribeContainerGroupDefinition(ctx, &gamelift.DescribeContainerGroupDefinitionInput{Name: name, VersionNumber: aws.Int32(1)})
	refused[*types.NotFoundException](t, err, "no version 1")
	node.Must(c.DeleteContainerGroupDefinition(ctx, &gamelift.DeleteContainerGroupDefinitionInput{Name: name}))(t)
	_, err = c.ListContainerGroupDefinitionVersions(ctx, &gamelift.ListContainerGroupDefinitionVersionsInput{Name: name})
	refused[*types.NotFoundException](t, err, "arena")
}

// Images are looked up in a real registry: a tag's digest is that of the content it
// stands for, an image that does not exist fails the version, and an update mends it.
func TestContainerGroup_Registry(t *testing.T) {
	t.Parallel()
	registry := enginetest.RegistryAt(t, node.Reserve(t))
	c := node.Client(node.InProcess(t, nil).URL())
	image := registry.Push(t, "arena", enginetest.Image{})
	tagged := registry.Tag(t, image, "1")
	node.Must(c.CreateContainerGroupDefinition(t.Context(), containerGroup("arena", tagged)))(t)
	_, want, _ := strings.Cut(image, "@")
	if v := settled(t, c, "arena"); v.Status != types.ContainerGroupDefinitionStatusReady || *v.GameServerContainerDefinition.ResolvedImageDigest != want {
		t.Errorf("%s, %v; want READY with %s", v.Status, aws.ToString(v.StatusReason), want)
	}
	bad := containerGroup("bad", registry.Host+"/arena:none")
	node.Must(c.CreateContainerGroupDefinition(t.Context(), bad))(t)
	v := settled(t, c, "bad")
	if reason := aws.ToString(v.StatusReason); v.Status != types.ContainerGroupDefinitionStatusFailed || !strings.Contains(reason, registry.Host+"/arena:none") || !strings.Contains(reason, "no such repository or tag") {
		t.Errorf("%s, %q", v.Status, reason)
	}
	bad.GameServerContainerDefinition.ImageUri = &tagged
	node.Must(c.UpdateContainerGroupDefinition(t.Context(), &gamelift.UpdateContainerGroupDefinitionInput{Name: bad.Name, GameServerContainerDefinition: bad.GameServerContainerDefinition}))(t)
	if v := settled(t, c, "bad"); v.Status != types.ContainerGroupDefinitionStatusReady || *v.VersionNumber != 2 {
		t.Errorf("after the update: version %d is %s", *v.VersionNumber, v.Status)
	}
}

// settled returns the newest version of a definition when it is not COPYING any more.
func settled(t *testing.T, c *gamelift.Client, name string) *types.ContainerGroupDefinition {
	t.Helper()
	return wait.Value(t, name+" is not COPYING", func() (*types.ContainerGroupDefinition, error) {
		v := node.Must(c.DescribeContainerGroupDefinition(t.Context(), &gamelift.DescribeContainerGroupDefinitionInput{Name: &name}))(t).ContainerGroupDefinition
		if v.Status == types.ContainerGroupDefinitionStatusCopying {
			return nil, fmt.Errorf("version %d is COPYING", *v.VersionNumber)
		}
		return v, nil
	})
}
