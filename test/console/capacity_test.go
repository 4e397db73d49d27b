package console

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/agent"
	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/test/chromium"
	"github.com/musterhq/muster/test/node"
)

// The capacity of each location of a fleet can be set: MinSize, DesiredInstances and MaxSize. The
// dialog begins with the location that desires the most instances.
func TestCapacity(t *testing.T) {
	t.Parallel()
	chromium.Needs(t, "the console in a browser")
	launcher := node.Path(t)
	a := node.InProcess(t, func(*app.Options) {})
	c, ctx := node.Client(a.URL()), t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	lab := aws.String("custom-lab")
	_, err := c.CreateLocation(ctx, &gamelift.CreateLocationInput{LocationName: lab})
	must(err)
	machineIn(t, a.URL(), launcher, *lab)
	build, err := node.Upload(ctx, a.URL(), c, map[string][]byte{"game": []byte("#!/bin/sh\nexec sleep 600\n")})
	must(err)
	events := node.Follow(t, a.URL())
	made, err := c.CreateFleet(ctx, &gamelift.CreateFleetInput{
		Name: aws.String("duels"), BuildId: &build, EC2InstanceType: types.EC2InstanceTypeC5Large, Locations: []types.LocationConfiguration{{Location: lab}},
		RuntimeConfiguration: &types.RuntimeConfiguration{ServerProcesses: []types.ServerProcess{{
			LaunchPath: aws.String("/local/game/game"), Parameters: aws.String("{{.NoSDK ready-after=1s}}"), ConcurrentExecutions: aws.Int32(1),
		}}},
	})
	must(err)
	fleet := made.FleetAttributes.FleetId
	events.Code(t, "FLEET_STATE_ACTIVE")
	for _, of := range []gamelift.UpdateFleetCapacityInput{
		{MinSize: aws.Int32(0), DesiredInstances: aws.Int32(0), MaxSize: aws.Int32(0)},
		{Location: lab, MinSize: aws.Int32(1), DesiredInstances: aws.Int32(2), MaxSize: aws.Int32(3)},
	} {
		of.FleetId = fleet
		_, err := c.UpdateFleetCapacity(ctx, &of)
		must(err)
	}

	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	page := chromium.Open(t, limited, a.URL()+"/console/fleets?id="+*fleet, "1280,900")
	until := func(expression string) { t.Helper(); page.Until(limited, expression) }
	command := func(of string) {
		t.Helper()
		until(`document.querySelector("[role=dialog] pre")?.textContent.endsWith("update-fleet-capacity --fleet-id ` + *fleet + ` ` + of + `")`)
	}
	until(`(() => { const b = [...document.querySelectorAll("button")].find((b) => b.textContent === "Set capacity …"); b?.click(); return b; })()`)
	command("--location custom-lab --min-size 1 --desired-instances 2 --max-size 3")
	until(`[...document.querySelectorAll("[role=dialog] input")].map((i) => i.value).join() === "1,2,3"`)
	page.Screenshot("capacity.png")

	enter := func(at, value string) {
		t.Helper()
		until(`(() => { const i = document.querySelectorAll("[role=dialog] input")[` + at + `]; i.value = "` + value + `"; i.dispatchEvent(new Event("input", { bubbles: true })); return true; })()`)
	}
	set := `([...document.querySelectorAll("[role=dialog] footer button")].at(-1).click(), true)`
	until(`(() => { const s = document.querySelector("[role=dialog] select"); s.value = "us-east-1"; s.dispatchEvent(new Event("change", { bubbles: true })); return true; })()`)
	command("--location us-east-1 --min-size 0 --desired-instances 0 --max-size 0")
	until(`[...document.querySelectorAll("[role=dialog] input")].map((i) => i.value).join() === "0,0,0"`)
	enter("1", "4")
	until(set)
	until(`document.querySelector("[role=dialog] [role=alert]")?.textContent.includes("DesiredInstances: 4 is not between MinSize 0 and MaxSize 0")`)
	enter("2", "5")
	command("--location us-east-1 --min-size 0 --desired-instances 4 --max-size 5")
	until(set)
	until(`!document.querySelector("[role=dialog]") && document.querySelector(".toasts").textContent.includes("duels desires 4 instances in us-east-1.")`)
	for location, want := range map[string][3]int32{"us-east-1": {0, 4, 5}, *lab: {1, 2, 3}} {
		out, err := c.DescribeFleetLocationCapacity(ctx, &gamelift.DescribeFleetLocationCapacityInput{FleetId: fleet, Location: &location})
		must(err)
		n := out.FleetCapacity.InstanceCounts
		if has := [3]int32{*n.MINIMUM, *n.DESIRED, *n.MAXIMUM}; has != want {
			t.Errorf("%s has %v, want %v", location, has, want)
		}
	}

	// Where the server sets MinSize, it is not asked for.
	_, err = c.UpdateFleetCapacity(ctx, &gamelift.UpdateFleetCapacityInput{
		FleetId: fleet, Location: lab, DesiredInstances: aws.Int32(5), MaxSize: aws.Int32(6),
		ManagedCapacityConfiguration: &types.ManagedCapacityConfiguration{ZeroCapacityStrategy: types.ZeroCapacityStrategyScaleToAndFromZero},
	})
	must(err)
	until(`(() => { const b = [...document.querySelectorAll("button")].find((b) => b.textContent === "Set capacity …"); b?.click(); return b; })()`)
	command("--location custom-lab --desired-instances 5 --max-size 6")
	enter("0", "6")
	until(set)
	until(`!document.querySelector("[role=dialog]") && document.querySelector(".toasts").textContent.includes("duels desires 6 instances in custom-lab.")`)
}

// machineIn lets a machine join a location until the test ends.
func machineIn(t *testing.T, url, launcher, location string) {
	t.Helper()
	token, err := (&client.Client{Endpoint: url}).CreateJoinToken(t.Context(), client.JoinTokenInput{Location: location})
	if err != nil {
		t.Fatal(err)
	}
	runner, err := agent.New(agent.Options{
		Server: url, Token: token.Token, Root: t.TempDir(), Launcher: launcher, Unconfined: true, StopGrace: time.Second, Log: slog.New(slog.DiscardHandler),
		Facts: protocol.Facts{IPAddress: "127.0.0.1", CPUMillis: 64_000, MemoryMiB: 256 << 10},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the agent ends with %v", err)
		}
	})
}
