package api

import (
	"context"
	"iter"

	"github.com/musterhq/muster/build/container"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
)

func (h handlers) registerContainerGroups(srv *awsrpc.Server) {
	on(srv, "CreateContainerGroupDefinition", h.createContainerGroup)
	on(srv, "DescribeContainerGroupDefinition", h.describeContainerGroup)
	on(srv, "ListContainerGroupDefinitions", h.listContainerGroups)
	on(srv, "ListContainerGroupDefinitionVersions", h.listContainerGroupVersions)
	on(srv, "UpdateContainerGroupDefinition", h.updateContainerGroup)
	on(srv, "DeleteContainerGroupDefinition", h.deleteContainerGroup)
}

func (h handlers) createContainerGroup(ctx context.Context, in *gamelift.CreateContainerGroupDefinitionInput) (*gamelift.CreateContainerGroupDefinitionOutput, error) {
	tags, err := tagMap(in.Tags)
	if err != nil {
		return nil, err
	}
	v, err := h.Containers.Create.Do(ctx, container.CreateInput{
		Name: *in.Name, Type: container.Type(val(in.ContainerGroupType)), Tags: tags,
		Spec: container.Spec{
			OS: *in.OperatingSystem, Memory: int(*in.TotalMemoryLimitMebibytes), VCPU: *in.TotalVcpuLimit,
			Description: val(in.VersionDescription),
			Game:        gameContainerIn(in.GameServerContainerDefinition), Support: list(in.SupportContainerDefinitions, supportContainerIn),
		},
	})
	if err != nil {
		return nil, err
	}
	return &gamelift.CreateContainerGroupDefinitionOutput{ContainerGroupDefinition: new(h.containerGroupOut(v))}, nil
}

func (h handlers) updateContainerGroup(ctx context.Context, in *gamelift.UpdateContainerGroupDefinitionInput) (*gamelift.UpdateContainerGroupDefinitionOutput, error) {
	v, err := h.Containers.Update.Do(ctx, container.UpdateInput{
		Name: *in.Name, Source: int(val(in.SourceVersionNumber)), OS: in.OperatingSystem,
		Memory: count(in.TotalMemoryLimitMebibytes), VCPU: in.TotalVcpuLimit, About: in.VersionDescription,
		Game: gameContainerIn(in.GameServerContainerDefinition), Support: listIfGiven(in.SupportContainerDefinitions, supportContainerIn),
	})
	if err != nil {
		return nil, err
	}
	return &gamelift.UpdateContainerGroupDefinitionOutput{ContainerGroupDefinition: new(h.containerGroupOut(v))}, nil
}

func (h handlers) describeContainerGroup(_ context.Context, in *gamelift.DescribeContainerGroupDefinitionInput) (*gamelift.DescribeContainerGroupDefinitionOutput, error) {
	v, err := h.Containers.Find(h.Store.View(), *in.Name, int(val(in.VersionNumber)))
	if err != nil {
		return nil, err
	}
	return &gamelift.DescribeContainerGroupDefinitionOutput{ContainerGroupDefinition: new(h.containerGroupOut(v))}, nil
}

func (h handlers) listContainerGroups(ctx context.Context, in *gamelift.ListContainerGroupDefinitionsInput) (*gamelift.ListContainerGroupDefinitionsOutput, error) {
	page, next, err := pageOf(in.NextToken, limit(in.Limit, defaultPage, largestPage), func(after string) iter.Seq[*container.Version] {
		all := reached(ctx, h.Containers.Newest(h.Store.View(), after), func(v *container.Version) string { return container.TaggedARN(h.Containers.ARN(v)) })
		return filtered(all, func(v *container.Version) bool {
			return in.ContainerGroupType == nil || string(v.Type) == *in.ContainerGroupType
		})
	}, func(v *container.Version) string { return v.Name }, "ListContainerGroupDefinitions", val(in.ContainerGroupType))
	if err != nil {
		return nil, err
	}
	return &gamelift.ListContainerGroupDefinitionsOutput{ContainerGroupDefinitions: list(page, h.containerGroupOut), NextToken: next}, nil
}

func (h handlers) listContainerGroupVersions(_ context.Context, in *gamelift.ListContainerGroupDefinitionVersionsInput) (*gamelift.ListContainerGroupDefinitionVersionsOutput, error) {
	parts := []string{"ListContainerGroupDefinitionVersions", *in.Name}
	before, err := cursor[int](in.NextToken, parts...)
	if err != nil {
		return nil, err
	}
	all, err := h.Containers.Versions(h.Store.View(), *in.Name, before)
	if err != nil {
		return nil, err
	}
	page, more := take(all, limit(in.Limit, defaultPage, largestPage))
	if more {
		before = page[len(page)-1].Number
	}
	return &gamelift.ListContainerGroupDefinitionVersionsOutput{
		ContainerGroupDefinitions: list(page, h.containerGroupOut), NextToken: nextToken(more, before, parts...),
	}, nil
}

func (h handlers) deleteContainerGroup(ctx context.Context, in *gamelift.DeleteContainerGroupDefinitionInput) (*gamelift.DeleteContainerGroupDefinitionOutput, error) {
	err := h.Containers.Delete.Do(ctx, container.DeleteInput{
		Name: *in.Name, Number: int(val(in.VersionNumber)), Retain: count(in.VersionCountToRetain),
	})
	if err != nil {
		return nil, err
	}
	return &gamelift.DeleteContainerGroupDefinitionOutput{}, nil
}

func gameContainerIn(c *gamelift.GameServerContainerDefinitionInput) *container.Container {
	if c == nil {
		return nil
	}
	return &container.Container{
		Name: *c.ContainerName, Image: *c.ImageUri, SDK: *c.ServerSdkVersion, DependsOn: list(c.DependsOn, dependencyIn),
		Mounts: list(c.MountPoints, mountIn), Env: list(c.EnvironmentOverride, variableIn), Ports: portsIn(c.PortConfiguration),
		Capabilities: capabilitiesIn(c.LinuxCapabilities),
	}
}

func supportContainerIn(c gamelift.SupportContainerDefinitionInput) container.Container {
	return container.Container{
		Name: *c.ContainerName, Image: *c.ImageUri, DependsOn: list(c.DependsOn, dependencyIn),
		Mounts: list(c.MountPoints, mountIn), Env: list(c.EnvironmentOverride, variableIn), Ports: portsIn(c.PortConfiguration),
		Essential: val(c.Essential), Memory: int(val(c.MemoryHardLimitMebibytes)), VCPU: val(c.Vcpu), Health: healthCheckIn(c.HealthCheck),
		Capabilities: capabilitiesIn(c.LinuxCapabilities),
	}
}

func dependencyIn(d gamelift.ContainerDependency) container.Dependency {
	return container.Dependency{Container: *d.ContainerName, Condition: container.Condition(*d.Condition)}
}

func mountIn(m gamelift.ContainerMountPoint) container.Mount {
	return container.Mount{Instance: *m.InstancePath, Container: val(m.ContainerPath), Access: val(m.AccessLevel)}
}

func variableIn(e gamelift.ContainerEnvironment) container.Variable {
	return container.Variable{Name: *e.Name, Value: *e.Value}
}

func portsIn(p *gamelift.ContainerPortConfiguration) []container.PortRange {
	if p == nil {
		return nil
	}
	return list(p.ContainerPortRanges, func(r gamelift.ContainerPortRange) container.PortRange {
		return container.PortRange{From: int(*r.FromPort), To: int(*r.ToPort), Protocol: *r.Protocol}
	})
}

func capabilitiesIn(c *gamelift.LinuxCapabilities) []string {
	if c == nil {
		return nil
	}
	return c.Include
}

func healthCheckIn(c *gamelift.ContainerHealthCheck) *container.HealthCheck {
	if c == nil {
		return nil
	}
	return &container.HealthCheck{
		Command: c.Command, Interval: seconds(c.Interval), Timeout: seconds(c.Timeout),
		StartPeriod: seconds(c.StartPeriod), Retries: int(val(c.Retries)),
	}
}

func (h handlers) containerGroupOut(v *container.Version) gamelift.ContainerGroupDefinition {
	return gamelift.ContainerGroupDefinition{
		ContainerGroupDefinitionArn: new(h.Containers.ARN(v)), CreationTime: gamelift.At(v.Created), OperatingSystem: &v.OS,
		Name: &v.Name, ContainerGroupType: new(string(v.Type)), TotalMemoryLimitMebibytes: num(v.Memory), TotalVcpuLimit: &v.VCPU,
		GameServerContainerDefinition: gameContainerOut(v.Game), SupportContainerDefinitions: some(v.Support, supportContainerOut),
		VersionNumber: num(v.Number), VersionDescription: opt(v.Description), Status: new(string(v.Status)), StatusReason: opt(v.Reason),
	}
}

func gameContainerOut(c *container.Container) *gamelift.GameServerContainerDefinition {
	if c == nil {
		return nil
	}
	return &gamelift.GameServerContainerDefinition{
		ContainerName: &c.Name, ImageUri: &c.Image, ResolvedImageDigest: opt(c.Digest), ServerSdkVersion: &c.SDK,
		DependsOn: some(c.DependsOn, dependencyOut), MountPoints: some(c.Mounts, mountOut),
		EnvironmentOverride: some(c.Env, variableOut), PortConfiguration: portsOut(c.Ports),
		LinuxCapabilities: capabilitiesOut(c.Capabilities),
	}
}

func supportContainerOut(c container.Container) gamelift.SupportContainerDefinition {
	return gamelift.SupportContainerDefinition{
		ContainerName: &c.Name, ImageUri: &c.Image, ResolvedImageDigest: opt(c.Digest), Essential: &c.Essential,
		MemoryHardLimitMebibytes: opt(int32(c.Memory)), Vcpu: opt(c.VCPU), HealthCheck: healthCheckOut(c.Health),
		DependsOn: some(c.DependsOn, dependencyOut), MountPoints: some(c.Mounts, mountOut),
		EnvironmentOverride: some(c.Env, variableOut), PortConfiguration: portsOut(c.Ports),
		LinuxCapabilities: capabilitiesOut(c.Capabilities),
	}
}

func dependencyOut(d container.Dependency) gamelift.ContainerDependency {
	return gamelift.ContainerDependency{ContainerName: &d.Container, Condition: new(string(d.Condition))}
}

func mountOut(m container.Mount) gamelift.ContainerMountPoint {
	return gamelift.ContainerMountPoint{InstancePath: &m.Instance, ContainerPath: opt(m.Container), AccessLevel: opt(m.Access)}
}

func variableOut(e container.Variable) gamelift.ContainerEnvironment {
	return gamelift.ContainerEnvironment{Name: &e.Name, Value: &e.Value}
}

func portsOut(ports []container.PortRange) *gamelift.ContainerPortConfiguration {
	if len(ports) == 0 {
		return nil
	}
	return &gamelift.ContainerPortConfiguration{ContainerPortRanges: list(ports, func(r container.PortRange) gamelift.ContainerPortRange {
		return gamelift.ContainerPortRange{FromPort: num(r.From), ToPort: num(r.To), Protocol: &r.Protocol}
	})}
}

func capabilitiesOut(names []string) *gamelift.LinuxCapabilities {
	if len(names) == 0 {
		return nil
	}
	return &gamelift.LinuxCapabilities{Include: names}
}

func healthCheckOut(c *container.HealthCheck) *gamelift.ContainerHealthCheck {
	if c == nil {
		return nil
	}
	return &gamelift.ContainerHealthCheck{
		Command: c.Command, Interval: opt(int32(c.Interval.Seconds())), Timeout: opt(int32(c.Timeout.Seconds())),
		StartPeriod: opt(int32(c.StartPeriod.Seconds())), Retries: opt(int32(c.Retries)),
	}
}
