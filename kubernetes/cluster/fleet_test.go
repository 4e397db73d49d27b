package cluster_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/kubernetes/internal/kubetest"
	"github.com/musterhq/muster/kubernetes/pod"
)

// caller calls a server that accepts any credentials.
type caller struct {
	t    *testing.T
	base string
}

// call calls an operation of the API.
func (c caller) call(operation string, in string, out any) {
	c.t.Helper()
	c.do(c.request(operation, in), out)
}

func (c caller) request(operation, in string) *http.Request {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.base, strings.NewReader(in))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("X-Amz-Target", "GameLift."+operation)
	req.Header.Set("Content-Type", "application/x-amz-json-1.1")
	return req
}

// plays runs the game server of a pod as a process, with the container's environment, as a
// kubelet would run its image.
func (k kubelet) plays(p *corev1.Pod, port string) {
	k.t.Helper()
	program := os.Getenv("ARENA_BIN")
	if program == "" {
		k.t.Skip("ARENA_BIN is not set; make kube runs this test")
	}
	env, err := k.environment(k.t.Context(), p)
	if err != nil {
		k.t.Fatal(err)
	}
	k.Program(k.t, "/usr/bin/env", append(append([]string{"-i"}, env...), program, "server", "--port="+port)...)
}

// freePort returns a UDP port that a game server may report.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		c, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := c.LocalAddr().(*net.UDPAddr).Port
		c.Close()
		if port <= 60000 {
			return strconv.Itoa(port)
		}
	}
	t.Fatal("every free port is above 60000")
	return ""
}

func (c caller) do(req *http.Request, out any) {
	c.t.Helper()
	if err := c.try(req, out); err != nil {
		c.t.Fatal(err)
	}
}

func (c caller) try(req *http.Request, out any) error {
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s %s %w", req.Method, req.Header.Get("X-Amz-Target"), res.Status, text, err)
	}
	return json.Unmarshal(text, out)
}

// joins returns the arguments with which muster-kubernetes joins a cluster to a location.
func (c caller) joins(k kubelet, location string) []string {
	c.t.Helper()
	var token protocol.JoinToken
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.base+protocol.PathTokens+"?"+url.Values{"location": {location}}.Encode(), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	c.do(req, &token)
	return []string{"--server=" + c.base, "--token=" + token.Token, "--kubeconfig=" + k.Kubeconfig(), "--namespace=default"}
}

// serve starts the program muster and returns how to call it.
func serve(t *testing.T, flags ...string) caller {
	t.Helper()
	program := os.Getenv("MUSTER_BIN")
	if program == "" {
		t.Skip("MUSTER_BIN is not set; make kube runs this test")
	}
	cmd := exec.Command(program, append([]string{"local", "--no-demo", "--engine=none", "--listen=127.0.0.1:0", "--data=" + t.TempDir()}, flags...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		if err := cmd.Wait(); err != nil {
			t.Errorf("muster ended with %v", err)
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, base, ok := strings.Cut(lines.Text(), "ready "); ok {
			go io.Copy(io.Discard, out)
			return caller{t, strings.TrimSpace(base)}
		}
	}
	t.Fatal("muster is not ready")
	return caller{}
}

// A container fleet of the real server on a real API server: a location that the cluster has
// joined gets its instance as pods, with ports of their own. The demo game plays one of them: its game session has the node's
// address and marks its pod. The pods go with the fleet.
func TestCluster_Fleet(t *testing.T) {
	muster := serve(t)
	k := kubelet{t, kubetest.Start(t)}
	k.node("node-1", corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: "203.0.113.1"})
	muster.call("CreateLocation", `{"LocationName":"custom-cluster"}`, new(any))
	k.Program(t, os.Getenv("MUSTER_KUBERNETES_BIN"), muster.joins(k, "custom-cluster")...)
	port := freePort(t)
	image := "registry.example/arena@sha256:" + strings.Repeat("ab", 32)
	muster.call("CreateContainerGroupDefinition", fmt.Sprintf(`{"Name":"arena","OperatingSystem":"AMAZON_LINUX_2023","TotalMemoryLimitMebibytes":256,"TotalVcpuLimit":0.25,
		"GameServerContainerDefinition":{"ContainerName":"game","ImageUri":%[1]q,"ServerSdkVersion":"5.4.0","PortConfiguration":{"ContainerPortRanges":[{"FromPort":%[2]s,"ToPort":%[2]s,"Protocol":"UDP"}]}}}`, image, port), new(any))
	var made struct {
		ContainerFleet struct{ FleetId string }
	}
	muster.call("CreateContainerFleet", `{"FleetRoleArn":"arn:aws:iam::000000000000:role/none","GameServerContainerGroupDefinitionName":"arena","GameServerContainerGroupsPerInstance":3,"Locations":[{"Location":"custom-cluster"}]}`, &made)
	fleet := made.ContainerFleet.FleetId
	pods := func() []corev1.Pod {
		list, err := k.Core.Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: pod.LabelFleet + "=" + fleet})
		if err != nil {
			t.Fatal(err)
		}
		return list.Items
	}
	k.until("the instance has its groups", func() bool { return len(pods()) == 3 })
	ports := map[int32]bool{}
	for _, p := range pods() {
		c := p.Spec.Containers[0]
		if c.Image != image || len(c.Ports) != 1 || fmt.Sprint(c.Ports[0].ContainerPort) != port {
			t.Errorf("pod %s runs %s with ports %v", p.Name, c.Image, c.Ports)
		}
		ports[c.Ports[0].HostPort] = true
		k.runs(&p, "node-1")
	}
	if len(ports) != 3 {
		t.Errorf("three game servers have the ports %v", ports)
	}
	var status struct {
		LocationAttributes []struct {
			LocationState struct{ Location, Status string }
		}
	}
	k.until("the location activates", func() bool {
		muster.call("DescribeFleetLocationAttributes", fmt.Sprintf(`{"FleetId":%q}`, fleet), &status)
		for _, l := range status.LocationAttributes {
			if l.LocationState.Location == "custom-cluster" && l.LocationState.Status == "ACTIVATING" {
				return true
			}
		}
		return false
	})
	played := pods()[0]
	k.plays(&played, port)
	var session struct {
		GameSession struct {
			IpAddress string
			Port      int32
		}
	}
	k.until("there is a game session", func() bool {
		in := fmt.Sprintf(`{"FleetId":%q,"Location":"custom-cluster","MaximumPlayerSessionCount":2}`, fleet)
		return muster.try(muster.request("CreateGameSession", in), &session) == nil
	})
	if g := session.GameSession; g.IpAddress != "203.0.113.1" || g.Port != played.Spec.Containers[0].Ports[0].HostPort {
		t.Errorf("players reach the game session at %s:%d", g.IpAddress, g.Port)
	}
	k.until("its pod alone is marked", func() bool {
		busy := 0
		for _, p := range pods() {
			if p.Labels[pod.LabelBusy] == "true" {
				busy++
				if p.Name != played.Name {
					t.Fatalf("pod %s is marked, the game session is on %s", p.Name, played.Name)
				}
			}
		}
		return busy == 1
	})
	muster.call("DeleteContainerFleet", fmt.Sprintf(`{"FleetId":%q}`, fleet), new(any))
	k.until("nothing is left", func() bool {
		for _, p := range pods() {
			if p.DeletionTimestamp != nil {
				k.vanishes(&p)
			}
		}
		return len(pods()) == 0
	})
}
