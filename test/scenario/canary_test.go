package scenario

import (
	"bytes"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// A canary that is watched gets the rest of the fleet when its time is over; one whose process
// crashes before is taken back at once.
func TestDeploy_WatchesItsCanary(t *testing.T) {
	t.Parallel()
	house := newDemoHouse(t)
	server := house.local(t)
	file, dist := house.write(t, strings.NewReplacer("ConcurrentExecutions: 4", "ConcurrentExecutions: 1", "DesiredInstances: 2", "DesiredInstances: 1").Replace(arenaSetup))
	house.muster(t, server.URL, "apply", "-f", file, "--yes")

	rebuilt(t, dist, 2)
	said := house.muster(t, server.URL, "deploy", "-f", file, "--build-version", "2", "--canary", "50%", "--for", "2s")
	t.Logf("a good canary:\n%s", said)
	runs(t, server.URL, "arena", "2")

	rebuilt(t, dist, 3)
	c := exec.CommandContext(t.Context(), house.path, "deploy", "-f", file, "--build-version", "3", "--canary", "50%", "--for", "1h", "--endpoint", server.URL)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the queue leads to the canary", func() bool { return canaryLeads(t, server.URL) })
	operator := &client.Client{Endpoint: server.URL}
	wait.Until(t, "its process is seen and killed", func() bool { return killCanary(t, operator, server.URL) })
	if err := c.Wait(); err == nil || !strings.Contains(out.String(), "rolled back: the canary failed: SERVER_PROCESS_CRASHED") {
		t.Errorf("a bad canary: %v\n%s", err, &out)
	}
	t.Logf("a bad canary:\n%s", &out)
	runs(t, server.URL, "arena", "2")
	if canaryLeads(t, server.URL) {
		t.Error("the queue still leads to the canary that failed")
	}
}

// canaryLeads reports whether the queue main tries something before the alias that it had.
func canaryLeads(t *testing.T, url string) bool {
	t.Helper()
	name := "main"
	out, err := node.Client(url).DescribeGameSessionQueues(t.Context(), &gamelift.DescribeGameSessionQueuesInput{Names: []string{name}})
	if err != nil {
		t.Fatal(err)
	}
	return len(out.GameSessionQueues) == 1 && len(out.GameSessionQueues[0].Destinations) == 2
}

// killCanary kills the processes of the fleet "arena (next)", and reports whether there were any.
func killCanary(t *testing.T, operator *client.Client, url string) (killed bool) {
	t.Helper()
	canary := fleetNamed(t, url, "arena (next)")
	if canary == nil {
		return false
	}
	instances, err := node.Client(url).DescribeInstances(t.Context(), &gamelift.DescribeInstancesInput{FleetId: canary.FleetId})
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]bool{}
	for _, i := range instances.Instances {
		of[*i.InstanceId] = true
	}
	hosts, err := operator.Hosts().List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hosts {
		shown, err := operator.Hosts().Get(t.Context(), h.HostID)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range shown.Instance {
			for _, p := range i.Processes {
				if of[i.InstanceID] && p.PID > 0 {
					killed = syscall.Kill(p.PID, syscall.SIGKILL) == nil || killed
				}
			}
		}
	}
	return killed
}
