package aws

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/terminal"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/gameserver"
	"github.com/musterhq/muster/test/node"
)

// engineHost is a machine that says it has a container engine. The test acts as its agent.
type engineHost struct {
	t  *testing.T
	ws *websocket.Conn
}

// joinEngine lets a machine with a container engine join the home Region.
func joinEngine(t *testing.T, url string) *engineHost {
	t.Helper()
	token := node.Must((&client.Client{Endpoint: url}).CreateJoinToken(t.Context(), client.JoinTokenInput{Location: "us-east-1"}))(t)
	facts := protocol.Facts{
		Name: "engine", IPAddress: "127.0.0.1", OS: "linux", Arch: "amd64", CPUMillis: 4000, MemoryMiB: 8192, PortFrom: 20000, PortTo: 20099,
		Engine: &protocol.Engine{Name: "docker", Version: "28"},
	}
	body := node.Must(json.Marshal(protocol.JoinRequest{Token: token.Token, Facts: facts}))(t)
	answer := node.Must(http.Post(url+protocol.PathJoin, "application/json", bytes.NewReader(body)))(t)
	defer answer.Body.Close()
	var j protocol.JoinResponse
	if err := json.NewDecoder(answer.Body).Decode(&j); err != nil {
		t.Fatal(err)
	}
	ws, resp, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(url, "http")+protocol.PathHost,
		http.Header{"Authorization": {"Bearer " + j.HostID + "." + j.Secret}})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	t.Cleanup(func() { ws.Close() })
	h := &engineHost{t, ws}
	h.send(protocol.Message{Hello: &protocol.Hello{Facts: facts, Run: "run-1"}})
	return h
}

func (h *engineHost) send(m protocol.Message) {
	h.t.Helper()
	frame := node.Must(protocol.Encode(m))(h.t)
	if err := h.ws.WriteMessage(websocket.TextMessage, frame); err != nil {
		h.t.Fatal(err)
	}
}

// assigned waits until the host is assigned an instance.
func (h *engineHost) assigned() protocol.Desired {
	h.t.Helper()
	if err := h.ws.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		h.t.Fatal(err)
	}
	for {
		_, frame, err := h.ws.ReadMessage()
		if err != nil {
			h.t.Fatal(err)
		}
		if m := node.Must(protocol.Decode(frame))(h.t); m.Assign != nil && len(m.Assign.Instances) > 0 {
			return m.Assign.Instances[0]
		}
	}
}

// runs reports that all groups of an instance run, and waits until that is recorded.
func (h *engineHost) runs(d protocol.Desired) {
	h.t.Helper()
	i := protocol.Instance{InstanceID: d.InstanceID, Phase: protocol.Activating}
	for _, g := range d.Groups {
		s := protocol.GroupStatus{Name: g.Name, Definition: g.Definition, Phase: protocol.GroupRunning}
		if !g.PerInstance {
			s.ProcessID, s.Started = "p"+g.Name, time.Now()
		}
		for _, c := range g.Containers {
			s.Containers = append(s.Containers, protocol.ContainerStatus{Name: c.Name, RuntimeID: c.Name + g.Name, Running: true})
		}
		i.Groups = append(i.Groups, s)
	}
	h.send(protocol.Message{Status: &protocol.Status{Instances: []protocol.Instance{i}}})
	h.send(protocol.Message{Exited: &protocol.Exited{Seq: 1, InstanceID: "unknown"}}) // acknowledged after the report
	for {
		_, frame, err := h.ws.ReadMessage()
		if err != nil {
			h.t.Fatal(err)
		}
		if m := node.Must(protocol.Decode(frame))(h.t); m.Ack != nil {
			return
		}
	}
}

// groupServer starts the game server of a group, which listens on a port of its container.
func groupServer(t *testing.T, d protocol.Desired, g protocol.Group, port int) *gameserver.Process {
	t.Helper()
	s := node.Must(gameserver.Start(t.Context(), gameserver.Options{
		Endpoint: d.SDKURL, Token: g.AuthToken, FleetID: d.FleetID, ComputeName: g.Compute, ProcessID: "p" + g.Name, Port: port,
	}))(t)
	t.Cleanup(s.Kill)
	return s
}

// A container fleet on a host: its computes, its ports, and a player at the host's port.
func TestContainerGroups(t *testing.T) {
	t.Parallel()
	a := node.InProcess(t, nil)
	ctx, c := t.Context(), node.Client(a.URL())
	metrics := types.SupportContainerDefinitionInput{
		ContainerName: aws.String("metrics"), ImageUri: aws.String("registry.example/metrics@" + imageDigest), Essential: aws.Bool(true),
		PortConfiguration: &types.ContainerPortConfiguration{ContainerPortRanges: []types.ContainerPortRange{{FromPort: aws.Int32(9000), ToPort: aws.Int32(9000), Protocol: types.IpProtocolTcp}}},
	}
	quiet := types.SupportContainerDefinitionInput{ContainerName: aws.String("quiet"), ImageUri: aws.String("registry.example/quiet@" + imageDigest)}
	arena := containerGroup("arena", "registry.example/arena@"+imageDigest)
	arena.SupportContainerDefinitions = []types.SupportContainerDefinitionInput{metrics, quiet}
	one := node.Must(c.CreateContainerGroupDefinition(ctx, arena))(t).ContainerGroupDefinition.ContainerGroupDefinitionArn
	beside := node.Must(c.CreateContainerGroupDefinition(ctx, &gamelift.CreateContainerGroupDefinitionInput{
		Name: aws.String("beside"), ContainerGroupType: types.ContainerGroupTypePerInstance, OperatingSystem: types.ContainerOperatingSystemAmazonLinux2023,
		TotalMemoryLimitMebibytes: aws.Int32(512), TotalVcpuLimit: aws.Float64(0.5),
		SupportContainerDefinitions: []types.SupportContainerDefinitionInput{metrics, quiet},
	}))(t).ContainerGroupDefinition
	f := node.Must(c.CreateContainerFleet(ctx, &gamelift.CreateContainerFleetInput{
		FleetRoleArn: fleetRole, InstanceType: aws.String("c5.xlarge"), GameServerContainerGroupDefinitionName: one, PerInstanceContainerGroupDefinitionName: beside.ContainerGroupDefinitionArn,
	}))(t).ContainerFleet
	h := joinEngine(t, a.URL())
	d := h.assigned()
	h.runs(d)
	at := slices.IndexFunc(d.Groups, func(g protocol.Group) bool { return g.Name == "1" })
	if at < 0 || d.Groups[at].Compute == "" {
		t.Fatalf("groups %+v", d.Groups)
	}
	g := d.Groups[at]
	list := func(in gamelift.ListComputeInput) []string {
		t.Helper()
		in.FleetId = f.FleetId
		return names(node.Must(c.ListCompute(ctx, &in))(t).ComputeList, "ComputeName")
	}
	counted := func(pending, active, idle int32) {
		t.Helper()
		wait.For(t, "the groups are counted", func() error {
			n := node.Must(c.DescribeFleetCapacity(ctx, &gamelift.DescribeFleetCapacityInput{FleetIds: []string{*f.FleetId}}))(t).FleetCapacity[0].GameServerContainerGroupCounts
			if *n.PENDING != pending || *n.ACTIVE != active || *n.IDLE != idle || *n.TERMINATING != 0 {
				return fmt.Errorf("PENDING %d, ACTIVE %d, IDLE %d, TERMINATING %d; want %d, %d, %d and 0", *n.PENDING, *n.ACTIVE, *n.IDLE, *n.TERMINATING, pending, active, idle)
			}
			return nil
		})
	}
	if got := list(gamelift.ListComputeInput{ComputeStatus: types.ListComputeInputStatusActive}); got != nil {
		t.Errorf("ACTIVE without a ready game server: %v", got)
	}
	counted(2, 0, 0)
	s := groupServer(t, d, g, 7003)
	counted(1, 0, 1)
	both := []string{d.InstanceID + "/0", d.InstanceID + "/1"}
	for definition, want := range map[*string][]string{nil: both, aws.String("arena"): both, one: both, aws.String("none"): nil, beside.ContainerGroupDefinitionArn: nil} {
		if got := list(gamelift.ListComputeInput{ContainerGroupDefinitionName: definition}); !slices.Equal(got, want) {
			t.Errorf("computes of %s: %v, want %v", aws.ToString(definition), got, want)
		}
	}
	if got := list(gamelift.ListComputeInput{ComputeStatus: types.ListComputeInputStatusActive}); !slices.Equal(got, both[1:]) {
		t.Errorf("ACTIVE: %v", got)
	}
	described := node.Must(c.DescribeCompute(ctx, &gamelift.DescribeComputeInput{FleetId: f.FleetId, ComputeName: &g.Compute}))(t).Compute
	if *described.GameServerContainerGroupDefinitionArn != *one || *described.InstanceId != d.InstanceID || len(described.ContainerAttributes) != 3 ||
		!strings.HasSuffix(*described.ComputeArn, ":compute/"+g.Compute) || *described.ContainerAttributes[0].ContainerName != "game" || *described.ContainerAttributes[0].ContainerRuntimeId != "game1" || *described.IpAddress != "127.0.0.1" {
		t.Errorf("compute %+v", described)
	}
	if i := node.Must(c.DescribeInstances(ctx, &gamelift.DescribeInstancesInput{FleetId: f.FleetId}))(t).Instances; len(i) != 1 || *i[0].InstanceId != d.InstanceID || aws.ToString(i[0].IpAddress) != "127.0.0.1" {
		t.Errorf("instances %+v", i)
	}

	p := node.Must(c.DescribeContainerGroupPortMappings(ctx, &gamelift.DescribeContainerGroupPortMappingsInput{
		FleetId: f.FleetArn, ContainerGroupType: types.ContainerGroupTypeGameServer, ComputeName: described.ComputeArn, InstanceId: &d.InstanceID,
	}))(t)
	m := p.ContainerGroupPortMappings
	if *p.ContainerGroupDefinitionArn != *one || *p.ComputeName != g.Compute || *p.Location != "us-east-1" || !slices.Equal(names(m, "ContainerName"), []string{"game", "metrics", "quiet"}) ||
		*m[0].ContainerRuntimeId != "game1" || len(m[0].ContainerPortMappings) != 11 || len(m[2].ContainerPortMappings) != 0 {
		t.Fatalf("port mappings %+v", p)
	}
	port := m[0].ContainerPortMappings[3]
	if want := g.Containers[0].Ports[3]; *port.ContainerPort != 7003 || int(*port.ConnectionPort) != want.Host || port.Protocol != types.IpProtocolUdp {
		t.Errorf("port %+v, the host was sent %+v", port, want)
	}
	p = node.Must(c.DescribeContainerGroupPortMappings(ctx, &gamelift.DescribeContainerGroupPortMappingsInput{
		FleetId: f.FleetId, ContainerGroupType: types.ContainerGroupTypeGameServer, ComputeName: &g.Compute, ContainerName: aws.String("metrics"),
	}))(t)
	if m := p.ContainerGroupPortMappings; len(m) != 1 || int(*m[0].ContainerPortMappings[0].ConnectionPort) != d.PortFrom+23 {
		t.Errorf("port mappings of a container %+v", p)
	}
	p = node.Must(c.DescribeContainerGroupPortMappings(ctx, &gamelift.DescribeContainerGroupPortMappingsInput{
		FleetId: f.FleetId, ContainerGroupType: types.ContainerGroupTypePerInstance, InstanceId: &d.InstanceID,
	}))(t)
	if p.ComputeName != nil || *p.ContainerGroupDefinitionArn != *beside.ContainerGroupDefinitionArn || len(p.ContainerGroupPortMappings) != 2 ||
		int(*p.ContainerGroupPortMappings[0].ContainerPortMappings[0].ConnectionPort) != d.PortFrom+24 {
		t.Errorf("port mappings of the instance %+v", p)
	}

	place := &node.Place{Client: c, FleetID: *f.FleetId, Location: "us-east-1"}
	game := node.Must(place.Create(ctx, 2))(t)
	receive(t, s.Activated())
	if *game.Port != *port.ConnectionPort || *game.IpAddress != "127.0.0.1" {
		t.Errorf("players are sent to %s:%d, want port %d", *game.IpAddress, *game.Port, *port.ConnectionPort)
	}
	player := node.Must(c.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{GameSessionId: game.GameSessionId, PlayerId: aws.String("p")}))(t).PlayerSession
	if *player.Port != *port.ConnectionPort {
		t.Errorf("the player is sent to port %d", *player.Port)
	}
	portMappingErrors(t, c, f.FleetId, d, g)
	counted(1, 1, 0)
	other := slices.IndexFunc(d.Groups, func(g protocol.Group) bool { return g.Name == "0" })
	idle := groupServer(t, d, d.Groups[other], 7003)
	counted(0, 1, 1)
	idle.Kill() // one that is away takes no game session
	counted(1, 1, 0)
}

// portMappingErrors provokes the documented errors of DescribeContainerGroupPortMappings.
func portMappingErrors(t *testing.T, c *gamelift.Client, fleetID *string, d protocol.Desired, g protocol.Group) {
	t.Helper()
	game, per := types.ContainerGroupTypeGameServer, types.ContainerGroupTypePerInstance
	ask := func(in gamelift.DescribeContainerGroupPortMappingsInput) error {
		if in.FleetId == nil {
			in.FleetId = fleetID
		}
		_, err := c.DescribeContainerGroupPortMappings(t.Context(), &in)
		return err
	}
	for text, in := range map[string]gamelift.DescribeContainerGroupPortMappingsInput{
		"ComputeName: required":         {ContainerGroupType: game, InstanceId: &d.InstanceID},
		"not on i-other":                {ContainerGroupType: game, ComputeName: &g.Compute, InstanceId: aws.String("i-other")},
		"ComputeName: not allowed with": {ContainerGroupType: per, ComputeName: &g.Compute, InstanceId: &d.InstanceID},
		"InstanceId: required":          {ContainerGroupType: per},
		"is of ComputeType ANYWHERE":    {ContainerGroupType: per, InstanceId: &d.InstanceID, FleetId: &node.NewPlace(t, c).FleetID},
		"ContainerGroupType":            {ContainerGroupType: "OTHER", InstanceId: &d.InstanceID},
	} {
		refused[*types.InvalidRequestException](t, ask(in), text)
	}
	for text, in := range map[string]gamelift.DescribeContainerGroupPortMappingsInput{
		"compute " + d.InstanceID + "/7": {ContainerGroupType: game, ComputeName: aws.String(d.InstanceID + "/7")},
		"compute " + d.InstanceID:        {ContainerGroupType: game, ComputeName: &d.InstanceID},
		"no instance i-other":            {ContainerGroupType: per, InstanceId: aws.String("i-other")},
		"no container other":             {ContainerGroupType: game, ComputeName: &g.Compute, ContainerName: aws.String("other")},
		"containerfleet-none":            {ContainerGroupType: per, InstanceId: &d.InstanceID, FleetId: aws.String("containerfleet-none")},
	} {
		refused[*types.NotFoundException](t, ask(in), text)
	}
}

// A container fleet is scaled as others are, by the name of its group.
func TestContainerFleet_Scale(t *testing.T) {
	t.Parallel()
	a := node.InProcess(t, nil)
	ctx, c := t.Context(), node.Client(a.URL())
	one, _ := containerVersions(t, c, "arena")
	f := node.Must(c.CreateContainerFleet(ctx, &gamelift.CreateContainerFleetInput{FleetRoleArn: fleetRole, InstanceType: aws.String("c5.large"), GameServerContainerGroupDefinitionName: one}))(t).ContainerFleet
	scale := func(s terminal.Scale) (string, error) {
		var out bytes.Buffer
		err := (&terminal.Terminal{Client: &client.Client{Endpoint: a.URL()}, Out: &out}).ScaleFleet(ctx, "arena:1", s)
		return out.String(), err
	}
	if said, err := scale(terminal.Scale{Desired: aws.Int(0)}); err == nil || !strings.Contains(err.Error(), "InvalidFleetStatusException") || strings.Contains(err.Error(), "add --") {
		t.Errorf("before it is ACTIVE: %q, %v", said, err)
	}
	h := joinEngine(t, a.URL())
	d := h.assigned()
	h.runs(d)
	at := slices.IndexFunc(d.Groups, func(g protocol.Group) bool { return !g.PerInstance })
	groupServer(t, d, d.Groups[at], 7001)
	if said, err := scale(terminal.Scale{Desired: aws.Int(2), Max: aws.Int(3)}); err != nil || said != "arena:1 in us-east-1: MinSize 0, DesiredInstances from 1 to 2, MaxSize from 1 to 3.\n" {
		t.Errorf("%q, %v", said, err)
	}
	wait.For(t, "one instance of two is ACTIVE", func() error {
		n := node.Must(c.DescribeFleetCapacity(ctx, &gamelift.DescribeFleetCapacityInput{FleetIds: []string{*f.FleetId}}))(t).FleetCapacity[0].InstanceCounts
		if *n.DESIRED != 2 || *n.MAXIMUM != 3 || *n.PENDING != 1 {
			return fmt.Errorf("it has %d desired, %d at most, %d pending", *n.DESIRED, *n.MAXIMUM, *n.PENDING)
		}
		return nil
	})
}
