package cluster_test

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/kubernetes/internal/kubetest"
	"github.com/musterhq/muster/kubernetes/pod"
)

// A container fleet of the real server on simulated nodes: instances with a per-instance group
// share a node with it; a new version is rolled out while players play in protected game
// sessions, and muster-kubernetes is killed meanwhile; a version that does not work is rolled
// back by itself. No game session ends before its player leaves, and no player loses a game.
func TestCluster_Rollout(t *testing.T) {
	const instances, copies, games = 4, 5, 12
	images := map[string][]string{
		image("1"): {"server", "--ticks=2", "--silent=" + silence.String()},
		image("2"): {"server", "--ticks=1", "--silent=" + silence.String()},
		image("3"): {"no-such-command"},
	}
	c := serve(t, "--deployment-bake=2s")
	k := kubelet{t, kubetest.Start(t)}
	k.Simulate(t)
	for n := range 6 {
		node := kubetest.Node(fmt.Sprintf("node-%d", n), "4", "8Gi", corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.1.0.%d", n+1)})
		if _, err := k.Core.Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	k.until("nodes are ready", func() bool {
		list, err := k.Core.Nodes().List(t.Context(), metav1.ListOptions{})
		return err == nil && !slices.ContainsFunc(list.Items, func(n corev1.Node) bool { return len(n.Spec.Taints) > 0 })
	})
	ports := freePorts(t, 2*instances*copies)
	processes := newArenas(k, ports, images)
	r := &rollout{runtime: startRuntime(k, processes.launch), processes: processes, caller: c}
	join := c.joins(k, "us-east-1")
	agent := k.Program(t, os.Getenv("MUSTER_KUBERNETES_BIN"), join...)

	r.define(ports[0], ports[len(ports)-1])
	r.create(instances, copies)
	k.until("all groups are ready", func() bool { return r.idle() == instances*copies })
	before := r.instances()
	if len(before) != instances {
		t.Errorf("there are pods of %d instances", len(before))
	}

	// A new version.
	players := r.play(games)
	k.until("the pods of game sessions are marked, and no others", func() bool { return r.busy() == games })
	deployment := r.rollOut("2")
	k.until("a group of the new version runs", func() bool { return r.count("2") > 0 })
	if err := agent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	k.Program(t, os.Getenv("MUSTER_KUBERNETES_BIN"), join...)
	k.until("groups without a game session are of the new version", func() bool { return r.count("2") == instances*copies-games })
	r.check(players)
	if s := r.deployment(deployment); s != "IN_PROGRESS" {
		t.Errorf("while protected game sessions are played, the deployment is %s", s)
	}
	r.leave(players)
	k.until("the deployment has ended", func() bool { return hasEnded(r.deployment(deployment)) })
	if s := r.deployment(deployment); s != "COMPLETE" || r.count("2") != instances*copies {
		t.Fatalf("the deployment is %s, and %d groups are of the new version", s, r.count("2"))
	}
	k.until("all groups are ready", func() bool { return r.idle() == instances*copies })

	// A version that does not work.
	players = r.play(games)
	deployment = r.rollOut("3")
	k.until("the deployment has ended", func() bool { return hasEnded(r.deployment(deployment)) })
	if s := r.deployment(deployment); s != "ROLLBACK_COMPLETE" {
		t.Fatalf("the deployment of a version that does not work is %s", s)
	}
	r.check(players)
	r.leave(players)
	k.until("all groups are ready", func() bool { return r.idle() == instances*copies })
	if n := r.count("2"); n != instances*copies {
		t.Errorf("%d groups are of the version that works", n)
	}
	for instance, helper := range r.instances() {
		if before[instance] != helper {
			t.Errorf("rollouts of game servers have replaced the per-instance group of %s", instance)
		}
	}
	r.helperCrashes()
	r.remove()
}

// image returns the image of a version.
func image(version string) string {
	return "registry.example/arena@sha256:" + strings.Repeat("0", 63) + version
}

const helperImage = "registry.example/helper@sha256:abababababababababababababababababababababababababababababababab"

// rollout is a container fleet on simulated nodes whose versions are replaced.
type rollout struct {
	*runtime
	caller
	processes *arenas
	fleet     string
	from      int // first and last port of each container
	to        int
}

func (r *rollout) container(version string) string {
	return fmt.Sprintf(`{"ContainerName":"game","ImageUri":%q,"ServerSdkVersion":"5.4.0","PortConfiguration":{"ContainerPortRanges":[{"FromPort":%d,"ToPort":%d,"Protocol":"UDP"}]}}`,
		image(version), r.from, r.to)
}

// define creates the definitions of game servers and of what is beside them.
func (r *rollout) define(from, to int) {
	r.from, r.to = from, to
	r.call("CreateContainerGroupDefinition", fmt.Sprintf(`{"Name":"arena","OperatingSystem":"AMAZON_LINUX_2023","TotalMemoryLimitMebibytes":256,"TotalVcpuLimit":0.25,
		"GameServerContainerDefinition":%s}`, r.container("1")), new(any))
	r.call("CreateContainerGroupDefinition", fmt.Sprintf(`{"Name":"helper","ContainerGroupType":"PER_INSTANCE","OperatingSystem":"AMAZON_LINUX_2023","TotalMemoryLimitMebibytes":128,"TotalVcpuLimit":0.25,
		"SupportContainerDefinitions":[{"ContainerName":"helper","ImageUri":%q,"Essential":true}]}`, helperImage), new(any))
}

func (r *rollout) create(instances, copies int) {
	var made struct {
		ContainerFleet struct{ FleetId string }
	}
	r.call("CreateContainerFleet", fmt.Sprintf(`{"FleetRoleArn":"arn:aws:iam::000000000000:role/none","GameServerContainerGroupDefinitionName":"arena",
		"PerInstanceContainerGroupDefinitionName":"helper","GameServerContainerGroupsPerInstance":%d,"InstanceType":"c5.large","NewGameSessionProtectionPolicy":"FullProtection"}`, copies), &made)
	r.fleet = made.ContainerFleet.FleetId
	r.until("the fleet is active", func() bool {
		var now struct {
			ContainerFleet struct{ Status string }
		}
		r.call("DescribeContainerFleet", fmt.Sprintf(`{"FleetId":%q}`, r.fleet), &now)
		return now.ContainerFleet.Status == "ACTIVE"
	})
	r.call("UpdateFleetCapacity", fmt.Sprintf(`{"FleetId":%q,"DesiredInstances":%d,"MaxSize":%[2]d}`, r.fleet, instances), new(any))
}

// idle returns how many groups are ready for a game session.
func (r *rollout) idle() int { return r.counts(r.fleet).IDLE }

// busy returns how many pods are marked as hosting a game session.
func (r *rollout) busy() (n int) {
	for _, p := range r.pods() {
		if p.Labels[pod.LabelBusy] == "true" {
			n++
		}
	}
	return n
}

// pods returns the pods of the fleet that have not ended.
func (r *rollout) pods() (live []corev1.Pod) {
	list, err := r.Core.Pods("default").List(r.t.Context(), metav1.ListOptions{LabelSelector: pod.LabelFleet + "=" + pod.Label(r.fleet)})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, p := range list.Items {
		if p.DeletionTimestamp == nil && (p.Status.Phase == corev1.PodRunning || p.Status.Phase == corev1.PodPending) {
			live = append(live, p)
		}
	}
	return live
}

// count returns how many groups of a version run.
func (r *rollout) count(version string) (n int) {
	for _, p := range r.pods() {
		if p.Spec.Containers[0].Image == image(version) && p.Status.Phase == corev1.PodRunning {
			n++
		}
	}
	return n
}

// instances returns the per-instance pod of each instance, and checks that there is one, on
// the node of the instance's other pods.
func (r *rollout) instances() map[string]string {
	helpers, nodes := map[string]string{}, map[string]string{}
	for _, p := range r.pods() {
		instance := p.Labels[pod.LabelInstance]
		if at := nodes[instance]; at != "" && at != p.Spec.NodeName {
			r.t.Errorf("instance %s has pods on %s and on %s", instance, at, p.Spec.NodeName)
		}
		nodes[instance] = p.Spec.NodeName
		if p.Spec.Containers[0].Image != helperImage {
			continue
		}
		if helpers[instance] != "" {
			r.t.Errorf("instance %s has two per-instance groups", instance)
		}
		helpers[instance] = string(p.UID)
	}
	for instance := range nodes {
		if helpers[instance] == "" {
			r.t.Errorf("instance %s has no per-instance group", instance)
		}
	}
	return helpers
}

// game is a game session with its player.
type game struct {
	*player
	id string
}

// play creates game sessions, each with a player.
func (r *rollout) play(n int) (all []game) {
	for range n {
		var made struct {
			GameSession struct {
				GameSessionId, IpAddress string
				Port                     int32
			}
		}
		r.until("the node of a game server that is ready is known", func() bool {
			return r.try(r.request("CreateGameSession", fmt.Sprintf(`{"FleetId":%q,"MaximumPlayerSessionCount":2}`, r.fleet)), &made) == nil
		})
		g := made.GameSession
		var player struct {
			PlayerSession struct{ PlayerSessionId string }
		}
		r.until("a player is accepted", func() bool {
			in := fmt.Sprintf(`{"GameSessionId":%q,"PlayerId":"player"}`, g.GameSessionId)
			return r.try(r.request("CreatePlayerSession", in), &player) == nil
		})
		at := net.JoinHostPort("127.0.0.1", strconv.Itoa(r.behind(g.IpAddress, g.Port)))
		all = append(all, game{join(r.t, at, player.PlayerSession.PlayerSessionId), g.GameSessionId})
	}
	return all
}

// behind returns the port of the process to which a node's address and port lead.
func (r *rollout) behind(address string, port int32) int {
	for _, p := range r.pods() {
		for _, mapped := range p.Spec.Containers[0].Ports {
			if mapped.HostPort != port {
				continue
			}
			if process := r.processes.port(&p); process != int(mapped.ContainerPort) || p.Status.HostIP != address {
				r.t.Fatalf("players reach %s:%d; that is port %d of pod %s at %s, which uses %d", address, port, mapped.ContainerPort, p.Name, p.Status.HostIP, process)
			}
			return int(mapped.ContainerPort)
		}
	}
	r.t.Fatalf("no pod has port %d", port)
	return 0
}

func (r *rollout) status(id string) (status, reason string) {
	var found struct {
		GameSessions []struct{ Status, StatusReason string }
	}
	r.call("DescribeGameSessions", fmt.Sprintf(`{"GameSessionId":%q}`, id), &found)
	return found.GameSessions[0].Status, found.GameSessions[0].StatusReason
}

// check checks that all game sessions are ACTIVE and that each player hears the game.
func (r *rollout) check(all []game) {
	for _, g := range all {
		if status, reason := r.status(g.id); status != "ACTIVE" {
			r.t.Errorf("game session %s is %s %s", g.id, status, reason)
		}
		g.hears(r.t)
	}
}

// leave has all players leave, and waits until their game sessions have ended in order.
func (r *rollout) leave(all []game) {
	for _, g := range all {
		g.player.leave(r.t)
	}
	for _, g := range all {
		r.until("game session "+g.id+" has ended", func() bool {
			status, reason := r.status(g.id)
			if reason != "" {
				r.t.Fatalf("game session %s is %s: %s", g.id, status, reason)
			}
			return status == "TERMINATED"
		})
	}
}

// rollOut begins to roll a version out, and returns the id of the deployment.
func (r *rollout) rollOut(version string) string {
	var updated struct {
		ContainerGroupDefinition struct{ ContainerGroupDefinitionArn string }
	}
	r.call("UpdateContainerGroupDefinition", fmt.Sprintf(`{"Name":"arena","GameServerContainerDefinition":%s}`, r.container(version)), &updated)
	var fleet struct {
		ContainerFleet struct {
			DeploymentDetails struct{ LatestDeploymentId string }
		}
	}
	r.call("UpdateContainerFleet", fmt.Sprintf(`{"FleetId":%q,"GameServerContainerGroupDefinitionName":%q,
		"DeploymentConfiguration":{"ProtectionStrategy":"WITH_PROTECTION","MinimumHealthyPercentage":30,"ImpairmentStrategy":"ROLLBACK"}}`,
		r.fleet, updated.ContainerGroupDefinition.ContainerGroupDefinitionArn), &fleet)
	return fleet.ContainerFleet.DeploymentDetails.LatestDeploymentId
}

func (r *rollout) deployment(id string) string {
	var found struct {
		FleetDeployment struct{ DeploymentStatus string }
	}
	r.call("DescribeFleetDeployment", fmt.Sprintf(`{"FleetId":%q,"DeploymentId":%q}`, r.fleet, id), &found)
	return found.FleetDeployment.DeploymentStatus
}

func hasEnded(deployment string) bool {
	return deployment != "PENDING" && deployment != "IN_PROGRESS" && deployment != "ROLLBACK_IN_PROGRESS" && deployment != "IMPAIRED"
}

// helperCrashes has a per-instance group end: it is reported, and replaced on its node.
func (r *rollout) helperCrashes() {
	for _, p := range r.pods() {
		if p.Spec.Containers[0].Image == helperImage {
			r.ends(&p, 1, "Error", "out of ideas")
			r.until("it runs again", func() bool {
				for _, next := range r.pods() {
					if next.Spec.Containers[0].Image == helperImage && next.Labels[pod.LabelInstance] == p.Labels[pod.LabelInstance] && next.UID != p.UID && next.Spec.NodeName != "" {
						return true
					}
				}
				return false
			})
			break
		}
	}
	r.instances()
	r.until("the end of the per-instance group is a fleet event", func() bool {
		var found struct {
			Events []struct{ EventCode string }
		}
		r.call("DescribeFleetEvents", fmt.Sprintf(`{"FleetId":%q}`, r.fleet), &found)
		for _, e := range found.Events {
			if e.EventCode == "PER_INSTANCE_CONTAINER_GROUP_CRASHED" {
				return true
			}
		}
		return false
	})
}

// remove deletes the fleet, and waits until no pod is left.
func (r *rollout) remove() {
	r.call("DeleteContainerFleet", fmt.Sprintf(`{"FleetId":%q}`, r.fleet), new(any))
	r.until("nothing is left", func() bool {
		list, err := r.Core.Pods("default").List(r.t.Context(), metav1.ListOptions{LabelSelector: pod.LabelFleet + "=" + pod.Label(r.fleet)})
		return err == nil && len(list.Items) == 0
	})
}
