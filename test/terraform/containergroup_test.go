package terraform

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// TestContainerGroupDefinition sends what the provider's resource
// aws_gamelift_container_group_definition sends in its life, with every argument that the
// resource has, and compares what is read with what was asked for. The recordings are older
// than that resource.
func TestContainerGroupDefinition(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), node.Client(node.InProcess(t, nil).URL())
	image := aws.String("registry.example/arena@sha256:" + strings.Repeat("a", 64))
	port := func(n int32, protocol types.IpProtocol) *types.ContainerPortConfiguration {
		return &types.ContainerPortConfiguration{ContainerPortRanges: []types.ContainerPortRange{{FromPort: &n, ToPort: aws.Int32(n + 1), Protocol: protocol}}}
	}
	variable := []types.ContainerEnvironment{{Name: aws.String("MODE"), Value: aws.String("duel")}}
	folder := []types.ContainerMountPoint{{InstancePath: aws.String("/srv/maps"), ContainerPath: aws.String("/maps"), AccessLevel: types.ContainerMountPointAccessLevelReadOnly}}
	asked := &gamelift.CreateContainerGroupDefinitionInput{
		Name: aws.String("arena"), ContainerGroupType: types.ContainerGroupTypeGameServer, OperatingSystem: types.ContainerOperatingSystemAmazonLinux2023,
		TotalMemoryLimitMebibytes: aws.Int32(1024), TotalVcpuLimit: aws.Float64(1.5), VersionDescription: aws.String("one"),
		GameServerContainerDefinition: &types.GameServerContainerDefinitionInput{
			ContainerName: aws.String("game"), ImageUri: image, ServerSdkVersion: aws.String("5.4.0"), PortConfiguration: port(7000, types.IpProtocolUdp),
			DependsOn:           []types.ContainerDependency{{ContainerName: aws.String("metrics"), Condition: types.ContainerDependencyConditionHealthy}},
			EnvironmentOverride: variable, MountPoints: folder,
		},
		SupportContainerDefinitions: []types.SupportContainerDefinitionInput{{
			ContainerName: aws.String("metrics"), ImageUri: image, Essential: aws.Bool(true), MemoryHardLimitMebibytes: aws.Int32(128), Vcpu: aws.Float64(0.25),
			PortConfiguration: port(9000, types.IpProtocolTcp), EnvironmentOverride: variable, MountPoints: folder,
			HealthCheck: &types.ContainerHealthCheck{Command: []string{"CMD", "/check"}, Interval: aws.Int32(60), Retries: aws.Int32(5), StartPeriod: aws.Int32(10), Timeout: aws.Int32(30)},
		}, {
			ContainerName: aws.String("logs"), ImageUri: image, Essential: aws.Bool(false),
			DependsOn: []types.ContainerDependency{{ContainerName: aws.String("game"), Condition: types.ContainerDependencyConditionStart}},
		}},
		Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}},
	}
	computed := []string{"ContainerGroupDefinitionArn", "CreationTime", "Status", "VersionNumber", "ResolvedImageDigest"}
	created := node.Must(c.CreateContainerGroupDefinition(ctx, asked))(t)
	tags := asked.Tags
	asked.Tags = nil // which are read by their own operation
	first := awaitDefinition(t, c, created.ContainerGroupDefinition)
	shows(t, asked, first, computed...)
	if !strings.HasSuffix(*first.ContainerGroupDefinitionArn, ":containergroupdefinition/arena:1") {
		t.Errorf("the provider reads the name and the version from %s", *first.ContainerGroupDefinitionArn)
	}
	listed := node.Must(c.ListTagsForResource(ctx, &gamelift.ListTagsForResourceInput{ResourceARN: first.ContainerGroupDefinitionArn}))(t)
	shows(t, tags, listed.Tags)

	// Update. The provider names all arguments, and the version that it knows.
	asked.VersionDescription, asked.TotalVcpuLimit = aws.String("two"), aws.Float64(2)
	asked.GameServerContainerDefinition.DependsOn, asked.SupportContainerDefinitions = nil, asked.SupportContainerDefinitions[1:]
	updated := node.Must(c.UpdateContainerGroupDefinition(ctx, &gamelift.UpdateContainerGroupDefinitionInput{
		Name: asked.Name, OperatingSystem: asked.OperatingSystem, TotalMemoryLimitMebibytes: asked.TotalMemoryLimitMebibytes, TotalVcpuLimit: asked.TotalVcpuLimit,
		VersionDescription: asked.VersionDescription, SourceVersionNumber: first.VersionNumber,
		GameServerContainerDefinition: asked.GameServerContainerDefinition, SupportContainerDefinitions: asked.SupportContainerDefinitions,
	}))(t)
	second := awaitDefinition(t, c, updated.ContainerGroupDefinition)
	shows(t, asked, second, computed...)
	if *second.VersionNumber != 2 {
		t.Errorf("the update has made version %d", *second.VersionNumber)
	}

	// Delete names the version that the state has.
	for _, v := range []*types.ContainerGroupDefinition{second, first} {
		node.Must(c.DeleteContainerGroupDefinition(ctx, &gamelift.DeleteContainerGroupDefinitionInput{Name: v.Name, VersionNumber: v.VersionNumber}))(t)
		_, err := c.DescribeContainerGroupDefinition(ctx, &gamelift.DescribeContainerGroupDefinitionInput{Name: v.Name, VersionNumber: v.VersionNumber})
		if gone := (*types.NotFoundException)(nil); !errors.As(err, &gone) {
			t.Errorf("read after the deletion: %v", err)
		}
	}
}

// awaitDefinition waits as the provider does, which knows the statuses COPYING and READY.
func awaitDefinition(t *testing.T, c *gamelift.Client, d *types.ContainerGroupDefinition) *types.ContainerGroupDefinition {
	t.Helper()
	return wait.Value(t, "the definition is READY", func() (*types.ContainerGroupDefinition, error) {
		read := node.Must(c.DescribeContainerGroupDefinition(t.Context(), &gamelift.DescribeContainerGroupDefinitionInput{Name: d.Name, VersionNumber: d.VersionNumber}))(t)
		d := read.ContainerGroupDefinition
		switch d.Status {
		case types.ContainerGroupDefinitionStatusReady:
			return d, nil
		case types.ContainerGroupDefinitionStatusCopying:
			return nil, errors.New("it is COPYING")
		}
		t.Fatalf("version %d is %s: %s", *d.VersionNumber, d.Status, aws.ToString(d.StatusReason))
		return nil, nil
	})
}
