package containers

import (
	"bytes"
	"cmp"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/agent/engine/enginetest"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// world is a Muster, a machine with an agent and a container engine, and a registry.
type world struct {
	daemon
	c        *gamelift.Client
	server   *node.Process
	seen     *node.Events
	registry *enginetest.Registry
	program  string // the arena
	root     string // the agent's
	log      string
	agent    *exec.Cmd

	small        bool   // a group takes little of an instance
	instanceType string // default: c5.large
}

// build starts a world on an engine. Its agent joins the home region.
func build(d daemon, serve ...string) *world {
	t := d.t
	t.Helper()
	w := &world{daemon: d, root: t.TempDir(), program: static(t, "examples/arena"), registry: enginetest.NewRegistry(t)}
	w.server = node.Start(t, append([]string{"--data", t.TempDir(), "--listen", "127.0.0.1:0", "--log-level", "warn", "--engine", "none", "--deployment-bake", "2s"}, serve...)...)
	w.c, w.seen = node.Client(w.server.URL), node.Follow(t, w.server.URL)
	w.log = filepath.Join(t.TempDir(), "agent.log")
	w.startAgent()
	t.Cleanup(func() {
		w.killAgent()
		if text, err := os.ReadFile(w.log); err == nil && t.Failed() {
			t.Logf("the end of the agent's log:\n%s", text[max(0, len(text)-6000):])
		}
	})
	return w
}

func (w *world) startAgent() {
	w.t.Helper()
	operator := &client.Client{Endpoint: w.server.URL}
	token, err := operator.CreateJoinToken(w.t.Context(), client.JoinTokenInput{})
	if err != nil {
		w.t.Fatal(err)
	}
	log, err := os.OpenFile(w.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		w.t.Fatal(err)
	}
	defer log.Close()
	w.agent = exec.Command(node.Path(w.t), "agent", "--server", w.server.URL, "--root", w.root, "--ip", enginetest.Address, "--name", "engine",
		"--ports", "31000-31999", "--cpu", "96", "--memory", "196608", "--isolation", "off", "--engine", w.Host, "--allow-shells", "isolated")
	w.agent.Env = append(os.Environ(), "MUSTER_TOKEN="+token.Token)
	w.agent.Stdout, w.agent.Stderr = log, log
	if err := w.agent.Start(); err != nil {
		w.t.Fatal(err)
	}
}

// killAgent kills the agent without warning.
func (w *world) killAgent() {
	w.agent.Process.Kill()
	w.agent.Wait()
}

// push puts an image with an entry point into the registry.
func (w *world) push(entrypoint ...string) (image string) {
	w.t.Helper()
	content, err := os.ReadFile(w.program)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.registry.Push(w.t, "arena", enginetest.Image{Files: map[string][]byte{"arena": content}, Entrypoint: entrypoint})
}

// restartAgent kills the agent and starts the next one, which is connected when it returns.
func (w *world) restartAgent() {
	w.t.Helper()
	seen := node.FollowNew(w.t, w.server.URL)
	w.killAgent()
	w.startAgent()
	seen.Code(w.t, "HOST_CONNECTED")
}

func container(image string) *types.GameServerContainerDefinitionInput {
	return &types.GameServerContainerDefinitionInput{
		ContainerName: aws.String("game"), ImageUri: &image, ServerSdkVersion: aws.String("5.5.0"),
		PortConfiguration: &types.ContainerPortConfiguration{ContainerPortRanges: []types.ContainerPortRange{
			{FromPort: aws.Int32(7777), ToPort: aws.Int32(7777), Protocol: types.IpProtocolUdp},
		}},
	}
}

// define creates the definition, or a version of it, and waits until it is READY.
func (w *world) define(image string, change ...func(*gamelift.CreateContainerGroupDefinitionInput)) *types.ContainerGroupDefinition {
	w.t.Helper()
	in := &gamelift.CreateContainerGroupDefinitionInput{
		Name: aws.String("arena"), OperatingSystem: types.ContainerOperatingSystemAmazonLinux2023,
		TotalMemoryLimitMebibytes: aws.Int32(128), TotalVcpuLimit: aws.Float64(0.25), GameServerContainerDefinition: container(image),
	}
	if w.small {
		in.TotalMemoryLimitMebibytes, in.TotalVcpuLimit = aws.Int32(64), aws.Float64(0.125)
	}
	for _, f := range change {
		f(in)
	}
	_, err := w.c.CreateContainerGroupDefinition(w.t.Context(), in)
	if err != nil {
		_, err = w.c.UpdateContainerGroupDefinition(w.t.Context(), &gamelift.UpdateContainerGroupDefinitionInput{Name: in.Name, GameServerContainerDefinition: container(image)})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return wait.Value(w.t, "the definition is READY", func() (*types.ContainerGroupDefinition, error) {
		d, err := w.c.DescribeContainerGroupDefinition(w.t.Context(), &gamelift.DescribeContainerGroupDefinitionInput{Name: in.Name})
		if err != nil {
			w.t.Fatal(err)
		}
		v := d.ContainerGroupDefinition
		if v.Status == types.ContainerGroupDefinitionStatusReady {
			return v, nil
		}
		return nil, fmt.Errorf("version %d is %s: %s", *v.VersionNumber, v.Status, aws.ToString(v.StatusReason))
	})
}

// pause waits a little, and fails the test if it is over.
func (w *world) pause(what string) {
	w.t.Helper()
	select {
	case <-w.t.Context().Done():
		w.t.Fatalf("waiting for %s", what)
	case <-time.After(100 * time.Millisecond):
	}
}

// create creates a container fleet with copies of the game server and waits until it is
// ACTIVE.
func (w *world) create(copies int32) (fleetID string) {
	w.t.Helper()
	made, err := w.c.CreateContainerFleet(w.t.Context(), &gamelift.CreateContainerFleetInput{
		FleetRoleArn: aws.String("arn:aws:iam::000000000000:role/fleet"), GameServerContainerGroupDefinitionName: aws.String("arena"),
		GameServerContainerGroupsPerInstance: &copies, InstanceType: aws.String(cmp.Or(w.instanceType, "c5.large")), NewGameSessionProtectionPolicy: types.ProtectionPolicyFullProtection,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	id := *made.ContainerFleet.FleetId
	for {
		f := w.fleet(id)
		if f.Status == types.ContainerFleetStatusActive {
			return id
		}
		w.pause("the fleet, which is " + string(f.Status))
	}
}

func (w *world) fleet(id string) *types.ContainerFleet {
	w.t.Helper()
	d, err := w.c.DescribeContainerFleet(w.t.Context(), &gamelift.DescribeContainerFleetInput{FleetId: &id})
	if err != nil {
		w.t.Fatal(err)
	}
	return d.ContainerFleet
}

// session creates a game session of the fleet.
func (w *world) session(fleetID string) *types.GameSession {
	w.t.Helper()
	return session(w.t, w.c, gamelift.CreateGameSessionInput{FleetId: &fleetID, MaximumPlayerSessionCount: aws.Int32(4)})
}

// deploy rolls a version out and returns the deployment's final status.
func (w *world) deploy(fleetID string, v *types.ContainerGroupDefinition, protection types.DeploymentProtectionStrategy) types.DeploymentStatus {
	w.t.Helper()
	return w.deployed(fleetID, w.rollOut(fleetID, v, protection))
}

// rollOut begins to roll a version out, and returns the id of the deployment.
func (w *world) rollOut(fleetID string, v *types.ContainerGroupDefinition, protection types.DeploymentProtectionStrategy) (deploymentID string) {
	w.t.Helper()
	updated, err := w.c.UpdateContainerFleet(w.t.Context(), &gamelift.UpdateContainerFleetInput{
		FleetId: &fleetID, GameServerContainerGroupDefinitionName: v.ContainerGroupDefinitionArn,
		DeploymentConfiguration: &types.DeploymentConfiguration{
			ProtectionStrategy: protection, MinimumHealthyPercentage: aws.Int32(30), ImpairmentStrategy: types.DeploymentImpairmentStrategyRollback,
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return *updated.ContainerFleet.DeploymentDetails.LatestDeploymentId
}

func (w *world) deployment(fleetID, id string) types.DeploymentStatus {
	w.t.Helper()
	d, err := w.c.DescribeFleetDeployment(w.t.Context(), &gamelift.DescribeFleetDeploymentInput{FleetId: &fleetID, DeploymentId: &id})
	if err != nil {
		w.t.Fatal(err)
	}
	return d.FleetDeployment.DeploymentStatus
}

// deployed waits for the end of a deployment and returns its final status.
func (w *world) deployed(fleetID, id string) types.DeploymentStatus {
	w.t.Helper()
	for {
		switch s := w.deployment(fleetID, id); s {
		case types.DeploymentStatusPending, types.DeploymentStatusInProgress, types.DeploymentStatusRollbackInProgress:
		case types.DeploymentStatusImpaired:
			if w.fleet(fleetID).Status == types.ContainerFleetStatusActive {
				return s
			}
		default:
			return s
		}
		w.pause("the deployment")
	}
}

// events returns the newest events of a fleet, for the report of a failure.
func (w *world) events(fleetID string) string {
	out, err := w.c.DescribeFleetEvents(w.t.Context(), &gamelift.DescribeFleetEventsInput{FleetId: &fleetID, Limit: aws.Int32(30)})
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, e := range out.Events {
		all = append(all, fmt.Sprint(e.EventTime.Format(time.TimeOnly), " ", e.EventCode, ": ", aws.ToString(e.Message)))
	}
	return strings.Join(all, "\n")
}

// idle waits until as many game servers are ready for a game session and no other containers
// run: a game server ends a while after its game, and is replaced.
func (w *world) idle(fleetID string, n int) {
	w.t.Helper()
	var ready, playing int32
	var running int
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); w.pause("idle game servers") {
		d, err := w.c.DescribeFleetUtilization(w.t.Context(), &gamelift.DescribeFleetUtilizationInput{FleetIds: []string{fleetID}})
		if err != nil {
			w.t.Fatal(err)
		}
		u := d.FleetUtilization[0]
		ready, playing, running = aws.ToInt32(u.ActiveServerProcessCount), aws.ToInt32(u.ActiveGameSessionCount), len(w.running())
		if ready == int32(n) && playing == 0 && running == n {
			return
		}
	}
	w.t.Fatalf("%d game servers are ready, %d games are played and %d containers run; want %d, none and %[4]d", ready, playing, running, n)
}

// images returns the digests of the images of the running containers.
func (w *world) images() (all []string) {
	for _, id := range w.running() {
		image, err := w.try("inspect", "--format", "{{.Config.Image}}", id)
		if err == nil {
			all = append(all, image)
		}
	}
	return all
}

// listens reports whether a UDP port of this machine is taken.
func listens(port int32) bool {
	conn, err := net.ListenPacket("udp4", fmt.Sprintf("0.0.0.0:%d", port))
	if err == nil {
		conn.Close()
	}
	return err != nil
}

// A container fleet from its definition to a rollback: players play in it, game servers that
// crash are replaced, and neither the death of the agent nor that of the engine reaches a
// game.
func TestFleet(t *testing.T) { tryFleet(t, startDocker(t)) }

func TestFleet_Podman(t *testing.T) { tryFleet(t, startPodman(t)) }

func tryFleet(t *testing.T, d daemon) {
	w := build(d)
	w.define(w.push("/arena", "server", "--port", "7777"))
	fleetID := w.create(3)
	g := w.session(fleetID)
	play(t, w.program, w.c, g)

	// A crash.
	w.idle(fleetID, 3)
	w.daemon.run("kill", w.running()[0])
	w.seen.Code(t, "SERVER_PROCESS_CRASHED")
	w.idle(fleetID, 3)
	play(t, w.program, w.c, w.session(fleetID))

	// The agent dies; the game servers live, and the next agent finds them.
	w.idle(fleetID, 3)
	g = w.session(fleetID)
	containers := w.running()
	w.restartAgent()
	if after := w.running(); !slices.Equal(after, containers) {
		t.Errorf("after the agent %v run, before %v", after, containers)
	}
	play(t, w.program, w.c, g)

	// The engine dies, with all that it does for the network of containers.
	g = w.session(fleetID)
	w.Kill()
	w.Start()
	play(t, w.program, w.c, g)

	// A new version, while a game is played that is protected.
	ended := join(t, w.program, w.c, w.session(fleetID), 8*time.Second)
	two := w.define(w.push("/arena", "server", "--port", "7777", "--ticks", "30"))
	if s := w.deploy(fleetID, two, types.DeploymentProtectionStrategyWithProtection); s != types.DeploymentStatusComplete {
		t.Fatalf("the deployment is %s:\n%s", s, w.events(fleetID))
	}
	ended()
	digest := aws.ToString(two.GameServerContainerDefinition.ResolvedImageDigest)
	for _, image := range w.images() {
		if !strings.Contains(image, digest) {
			t.Errorf("%s runs, want %s", image, digest)
		}
	}
	play(t, w.program, w.c, w.session(fleetID))

	// A version that does not work.
	three := w.define(w.push("/arena", "no-such-command"))
	if s := w.deploy(fleetID, three, types.DeploymentProtectionStrategyWithProtection); s != types.DeploymentStatusRollbackComplete {
		t.Fatalf("the deployment of a version that does not work is %s:\n%s", s, w.events(fleetID))
	}
	play(t, w.program, w.c, w.session(fleetID))

	// Deleting the fleet leaves nothing.
	if _, err := w.c.DeleteContainerFleet(t.Context(), &gamelift.DeleteContainerFleetInput{FleetId: &fleetID}); err != nil {
		t.Fatal(err)
	}
	for w.daemon.run("ps", "--all", "--quiet") != "" {
		w.pause("the end of the containers")
	}
	if text, err := os.ReadFile(w.log); err != nil || bytes.Contains(text, []byte("panic")) {
		t.Errorf("the agent's log: %v", err)
	}
	for listens(31000) { // by what has watched over the container, which ends after it
		w.pause("the release of a game port")
	}
}

// A game server whose port of the machine another program holds gets another one, where
// players reach it, and does not count as crashed.
func TestFleet_PortHeld(t *testing.T) { tryPortHeld(t, startDocker(t)) }

func TestFleet_PortHeldPodman(t *testing.T) { tryPortHeld(t, startPodman(t)) }

func tryPortHeld(t *testing.T, d daemon) {
	other, err := net.ListenPacket("udp4", "0.0.0.0:31000")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	w := build(d)
	w.define(w.push("/arena", "server", "--port", "7777"))
	fleetID := w.create(2)
	w.seen.Until(t, "the event of the port", func(e node.Event) bool {
		return e.Code == "GENERIC_EVENT" && strings.Contains(e.Message, "holds port 31000")
	})
	for range 2 {
		g := w.session(fleetID)
		if port := aws.ToInt32(g.Port); port == 31000 {
			t.Errorf("players are sent to port %d", port)
		}
		play(t, w.program, w.c, g)
	}
	events, err := w.c.DescribeFleetEvents(t.Context(), &gamelift.DescribeFleetEventsInput{FleetId: &fleetID})
	if err != nil {
		t.Fatal(err)
	}
	said := 0
	for _, e := range events.Events {
		if strings.Contains(string(e.EventCode), "CRASHED") {
			t.Errorf("%s: %s", e.EventCode, aws.ToString(e.Message))
		}
		if strings.Contains(aws.ToString(e.Message), "holds port 31000") {
			said++
		}
	}
	if said != 1 {
		t.Errorf("the taken port is reported %d times", said)
	}
}
