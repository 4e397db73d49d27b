package containers

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/musterhq/muster/test/node"
)

// Each round asks for one more instance, of one container, and waits for the event that it
// is ACTIVE; then it has the engine alone create and start the same container, as
// `docker run` would; then it gives the instance back. The image is there.
func BenchmarkInstance_Docker(b *testing.B) { benchInstance(b, startDocker(b)) }

func BenchmarkInstance_Podman(b *testing.B) { benchInstance(b, startPodman(b)) }

func benchInstance(b *testing.B, d daemon) {
	w := build(d)
	w.define(w.push("/arena", "server", "--port", "7777"))
	fleetID := w.create(1)
	seen := node.FollowNew(b, w.server.URL)
	var active, alone []time.Duration
	for n := range b.N {
		before := w.running()
		begun := time.Now()
		w.resize(fleetID, 2)
		seen.Code(b, "INSTANCE_ACTIVE")
		active = append(active, time.Since(begun))
		if n := w.activeInstances(fleetID); n != 2 {
			b.Fatalf("after the event %d instances are ACTIVE, want 2", n)
		}
		alone = append(alone, w.repeat(w.newest(before), fmt.Sprint("alone-", n)))
		w.resize(fleetID, 1)
		seen.Code(b, "INSTANCE_TERMINATED")
	}
	b.ReportMetric(0, "ns/op") // a round has more than what is measured
	report(b, "ACTIVE", active)
	report(b, "engine", alone)
	ratios := make([]float64, len(active))
	for n := range active {
		ratios[n] = active[n].Seconds() / alone[n].Seconds()
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "p50-ratio")
}

// report reports the median and the longest of durations.
func report(b *testing.B, what string, all []time.Duration) {
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Milliseconds()), what+"-p50-ms")
	b.ReportMetric(float64(all[len(all)-1].Milliseconds()), what+"-max-ms")
}

func (w *world) resize(fleetID string, instances int32) {
	w.t.Helper()
	_, err := w.c.UpdateFleetCapacity(w.t.Context(), &gamelift.UpdateFleetCapacityInput{FleetId: &fleetID, DesiredInstances: &instances, MaxSize: aws.Int32(2)})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) activeInstances(fleetID string) int32 {
	w.t.Helper()
	d, err := w.c.DescribeFleetCapacity(w.t.Context(), &gamelift.DescribeFleetCapacityInput{FleetIds: []string{fleetID}})
	if err != nil {
		w.t.Fatal(err)
	}
	return aws.ToInt32(d.FleetCapacity[0].InstanceCounts.ACTIVE)
}

// newest returns a running container besides others. A game server may be ready before the
// engine says that its container runs.
func (w *world) newest(others []string) string {
	w.t.Helper()
	for {
		for _, id := range w.running() {
			if !slices.Contains(others, id) {
				return id
			}
		}
		w.pause("the container of the instance")
	}
}

// repeat creates and starts a container like another one, on another port and without what
// would make it a part of Muster, and returns how long the engine took for both; then it
// removes it.
func (w *world) repeat(id, name string) time.Duration {
	w.t.Helper()
	ctx, api := w.t.Context(), w.Client()
	found, err := api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	like := found.Container
	like.Config.Labels, like.Config.Hostname = nil, ""
	like.Config.Env = slices.DeleteFunc(like.Config.Env, func(v string) bool { return strings.HasPrefix(v, "GAMELIFT_") })
	// Podman shows the limit of processors in two forms and takes one, and has names of its
	// own for the other limits.
	like.HostConfig.CPUPeriod, like.HostConfig.CPUQuota = 0, 0
	for _, u := range like.HostConfig.Ulimits {
		u.Name = strings.ToLower(strings.TrimPrefix(u.Name, "RLIMIT_"))
	}
	like.HostConfig.PortBindings = network.PortMap{}
	for port := range like.Config.ExposedPorts {
		like.HostConfig.PortBindings[port] = []network.PortBinding{{HostPort: "32000"}}
	}
	begun := time.Now()
	made, err := api.ContainerCreate(ctx, client.ContainerCreateOptions{Name: name, Config: like.Config, HostConfig: like.HostConfig})
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = api.ContainerStart(ctx, made.ID, client.ContainerStartOptions{})
	took := time.Since(begun)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := api.ContainerStop(ctx, made.ID, client.ContainerStopOptions{Timeout: new(int)}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := api.ContainerRemove(ctx, made.ID, client.ContainerRemoveOptions{}); err != nil {
		w.t.Fatal(err)
	}
	return took
}
