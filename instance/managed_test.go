package instance_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/session"
)

func TestManaged_WalksByWhatItsHostReports(t *testing.T) {
	in(t, instance.Options{}, func(y *yard) {
		f := y.managed("")
		if got := y.status(f); got != fleet.Downloading {
			y.Errorf("without a host the fleet is %s", got)
		}
		if _, texts := y.told(f); !strings.Contains(texts, "no host has joined location us-east-1") {
			y.Errorf("no event says that a host is missing:\n%s", texts)
		}
		if c := y.Instances.Counts(y.Store.View(), y.Fleets.Get(y.Store.View(), f.ID), region); c != (instance.Counts{Pending: 1}) {
			y.Errorf("counts %+v", c)
		}
		h := y.host()
		a := y.assigned(h)
		if len(a) != 1 || a[0].Fleet.Managed.SHA256 != "ab" || a[0].PortTo-a[0].PortFrom+1 != instance.PortsAnInstance || a[0].CPUMillis != 2000 {
			y.Fatalf("assigned %+v", a)
		}
		y.run(h, a[0].ID, "p")
		if got := y.status(f); got != fleet.Active {
			y.Errorf("with a ready process the fleet is %s", got)
		}
		codes, _ := y.told(f)
		want := []event.Code{
			event.FleetCreated, event.FleetStateDownloading, event.GenericEvent,
			event.FleetExtractingBuild, event.FleetStateValidating, event.FleetValidatingRuntime,
			event.FleetStateBuilding, event.FleetRunningInstaller,
			event.LocationStateActivating, event.FleetCompletedInstaller, event.FleetStateActivating,
			event.LocationStateActive, event.FleetStateActive,
		}
		if diff := cmp.Diff(want, codes); diff != "" {
			y.Errorf("events (-want +got):\n%s", diff)
		}
		if _, err := y.takeOf(f); err != nil {
			y.Errorf("no game session can be placed: %v", err)
		}
	})
}

// A fleet in ERROR names the cause, and makes no instances. Its runtime configuration can be corrected
// while it is activating, and its host is told; also in ERROR.
func TestManaged_ErrorNamesTheCause(t *testing.T) {
	for code, want := range map[event.Code]event.Code{event.FleetLaunchPathNotFound: event.FleetLaunchPathNotFound, "": event.FleetActivationFailed} {
		in(t, instance.Options{}, func(y *yard) {
			h := y.host()
			f := y.managed("")
			i := y.assigned(h)[0].ID
			other := fleet.Runtime{Processes: []fleet.ProcessSpec{{LaunchPath: "/local/game/server", Concurrent: 1}}}
			correct := func() error {
				_, err := y.Fleets.UpdateRuntime.Do(y.Ctx, fleet.RuntimeInput{FleetID: f.ID, Runtime: other})
				return err
			}
			y.Must(correct())
			if got := y.assigned(h)[0].Fleet.Runtime; !cmp.Equal(got, other) {
				y.Errorf("the host runs %+v", got)
			}
			const cause = "launch path /local/game/arena is not in the build"
			y.report(h, instance.InstanceReport{InstanceID: i, Phase: instance.PhaseFailed, Code: code, Cause: cause})
			if got := y.status(f); got != fleet.Error {
				y.Errorf("the fleet is %s", got)
			}
			codes, texts := y.told(f)
			if !slices.Contains(codes, want) || !slices.Contains(codes, event.FleetStateError) || strings.Count(texts, cause) != 2 {
				y.Errorf("events %v:\n%s", codes, texts)
			}
			if a := y.assigned(h); len(a) != 1 || a[0].Stop != instance.End {
				y.Errorf("assigned %+v", a)
			}
			y.Must(correct())
			y.report(h, instance.InstanceReport{InstanceID: i, Phase: instance.PhaseGone})
			wait.Settle(10 * time.Minute)
			if a := y.assigned(h); len(a) != 0 {
				y.Errorf("an instance was made for a fleet in ERROR: %+v", a)
			}
			y.Must(y.Fleets.Delete.Do(y.Ctx, f.ID))
			wait.Settle(time.Second)
			if y.Fleets.Get(y.Store.View(), f.ID) != nil {
				y.Error("the fleet was not deleted")
			}
		})
	}
}

func TestManaged_LostHostIsReplaced(t *testing.T) {
	in(t, instance.Options{}, func(y *yard) {
		first := y.host()
		f := y.managed("")
		ref := y.run(first, y.assigned(first)[0].ID, "p")
		second := y.host()
		y.Must(y.Computes.Disconnect(y.Ctx, ref))
		y.Must(y.Instances.HostLost.Do(y.Ctx, first))
		wait.Settle(209 * time.Second)
		if n := len(y.assigned(second)); n != 0 {
			y.Errorf("replaced before its grace: %d", n)
		}
		wait.Settle(2 * time.Second)
		if n := len(y.assigned(second)); n != 1 {
			y.Errorf("%d instances on the other host, want 1", n)
		}
		if codes, _ := y.told(f); !slices.Contains(codes, event.InstanceReplaced) || !slices.Contains(codes, event.ServerProcessCrashed) {
			y.Errorf("events %v", codes)
		}
		y.connected(first)
		if n := len(y.assigned(first)); n != 0 {
			y.Errorf("the lost host still has %d instances", n)
		}
	})
}

func TestManaged_ScaleInSparesProtected(t *testing.T) {
	in(t, instance.Options{}, func(y *yard) {
		h := y.host()
		f := y.managed(fleet.FullProtection)
		y.run(h, y.assigned(h)[0].ID, "p")
		y.scale(f, 2)
		for _, a := range y.assigned(h) {
			if y.Instances.Instance(y.Store.View(), a.ID).Status == instance.Pending {
				y.run(h, a.ID, "q")
			}
		}
		game, err := y.Sessions.Create(y.Ctx, session.CreateInput{FleetID: f.ID, MaxPlayers: 2})
		y.Must(err)
		busy := y.Computes.Process(y.Store.View(), game.ProcessKey)
		y.Must(y.Sessions.Activate(y.Ctx, busy.Ref(), game.ID))
		y.scale(f, 1)
		for _, a := range y.assigned(h) {
			if gone := a.Stop != instance.Keep; gone == (a.ID == busy.ComputeName) {
				y.Errorf("instance %s: stop %q; the game session is on %s", a.ID, a.Stop, busy.ComputeName)
			}
		}
		y.scale(f, 0)
		wait.Settle(time.Hour)
		if p := y.Computes.Process(y.Store.View(), busy.Key); p.Status != compute.Active {
			y.Errorf("the process of a protected game session is %s", p.Status)
		}
		unprotected := fleet.NoProtection
		_, err = y.Sessions.Update(y.Ctx, session.UpdateInput{GameSessionID: game.ID, Protection: &unprotected})
		y.Must(err)
		wait.Settle(0)
		if p := y.Computes.Process(y.Store.View(), busy.Key); p.Status != compute.Terminating {
			y.Errorf("the process of a game session that is not protected any more is %s", p.Status)
		}
	})
}

// Capacity can be set for ACTIVE fleets only. In those, the home region may still wait
// for its first host, and be scaled to zero and back; other locations may not.
func TestManaged_ScalesHomeThatWaits(t *testing.T) {
	in(t, instance.Options{}, func(y *yard) {
		f := y.managed("", home, away)
		scale := func(location string, n int) func() error {
			return func() error {
				_, err := y.Fleets.Capacities.Update.Do(y.Ctx, fleet.CapacityInput{FleetID: f.ID, Location: location, Desired: &n})
				return err
			}
		}
		place := func(name string) fleet.LocationState { return *y.Fleets.Get(y.Store.View(), f.ID).Place(name) }
		y.Refused("the home region of a fleet that is not ACTIVE", fault.InvalidFleetStatus, scale("", 0))

		_, h := y.joined(home)
		y.run(h, y.assigned(h)[0].ID, "p")
		if f := y.Fleets.Get(y.Store.View(), f.ID); f.Status != fleet.Active || f.Home == home {
			y.Fatalf("the fleet is %s, at home in %s", f.Status, f.Home)
		}
		if l := place(""); !l.Status.Starting() || !l.WaitsForHost {
			y.Errorf("the home region is %+v; it has no host", l)
		}
		y.Refused("another location that waits", fault.InvalidFleetStatus, scale(away, 0))
		y.Must(scale("", 0)())
		wait.Settle(0)
		if c := y.Instances.Counts(y.Store.View(), y.Fleets.Get(y.Store.View(), f.ID), region); c != (instance.Counts{}) || place("").WaitsForHost {
			y.Errorf("the home region has %+v and waits for a host: %t", c, place("").WaitsForHost)
		}
		if l := place(""); l.Status != fleet.Active {
			y.Errorf("the home region, which is to have no instances, is %s", l.Status)
		}
		y.Must(scale("", 1)())
		wait.Settle(0)
		if l := place(""); !l.WaitsForHost {
			y.Errorf("the home region, which is to have one again, is %+v", l)
		}
		late := y.host()
		y.run(late, y.assigned(late)[0].ID, "q")
		if l := place(""); l.Status != fleet.Active {
			y.Errorf("with a host the home region is %s", l.Status)
		}
	})
}

func TestManaged_NeverConnected(t *testing.T) {
	registry := prometheus.NewRegistry()
	inCell(t, celltest.Options{Computes: compute.Options{Registerer: registry}}, func(y *yard) {
		h := y.host()
		f := y.managed("")
		i := y.assigned(h)[0].ID
		y.report(h, instance.InstanceReport{InstanceID: i, Phase: instance.Activating, Processes: []instance.ProcessReport{{ID: "mute", Started: time.Now()}}})
		wait.Settle(5*time.Minute + time.Second)
		exit := instance.ExitReport{HostID: h, InstanceID: i, ProcessID: "mute", Known: true, Code: -1, Signal: "killed", Reason: event.ServerProcessSDKInitTimeout}
		for range 2 {
			_, err := y.Instances.ProcessExited.Do(y.Ctx, exit)
			y.Must(err)
		}
		wait.Settle(time.Hour)
		codes, texts := y.told(f)
		n := 0
		for _, c := range codes {
			if c == event.ServerProcessSDKInitTimeout {
				n++
			}
		}
		if n != 1 || !strings.Contains(texts, "started but never connected") {
			y.Errorf("%d events tell of it:\n%s", n, texts)
		}
		counted := "# HELP muster_fleet_ended_server_processes_total Game server processes that have ended, by the code of the event that says why (other: a code that is not of the end of a process).\n" +
			"# TYPE muster_fleet_ended_server_processes_total counter\n"
		for _, code := range []event.Code{
			event.ProcessEnded, event.ServerProcessCrashed, event.ServerProcessForceTerminated, event.ServerProcessReadyTimeout,
			event.ServerProcessSDKInitTimeout, event.ServerProcessUnhealthy,
		} {
			times := 0
			if code == event.ServerProcessSDKInitTimeout {
				times = 1
			}
			counted += fmt.Sprintf("muster_fleet_ended_server_processes_total{code=%q,fleet_id=%q,fleet_name=%q,location=%q} %d\n", code, f.ID, f.Name, f.Locations[0].Location, times)
		}
		if err := testutil.GatherAndCompare(registry, strings.NewReader(counted)); err != nil {
			y.Error(err)
		}
		if y.status(f) != fleet.Error {
			y.Errorf("the fleet is %s though nothing was ever ready", y.status(f))
		}
	})
}

// A process that had not connected when its instance was to end is ended by its host,
// whenever the host reports it: its connection would be refused.
func TestManaged_DrainEndsWhatHasNotConnected(t *testing.T) {
	in(t, instance.Options{}, func(y *yard) {
		k := &keeper{ended: map[string]event.Code{}}
		y.Instances.AddLauncher(k)
		h := y.host()
		f := y.managed("")
		i := y.assigned(h)[0].ID
		running := []instance.ProcessReport{{ID: "early", Started: time.Now()}, {ID: "late", Started: time.Now()}}
		y.report(h, instance.InstanceReport{InstanceID: i, Phase: instance.Activating, Processes: running[:1]})
		y.Must(y.Fleets.Delete.Do(y.Ctx, f.ID))
		y.Refused("another runtime configuration for a fleet that is going", fault.InvalidFleetStatus, func() error {
			_, err := y.Fleets.UpdateRuntime.Do(y.Ctx, fleet.RuntimeInput{FleetID: f.ID, Runtime: f.Runtime})
			return err
		})
		y.report(h, instance.InstanceReport{InstanceID: i, Phase: instance.Activating, Processes: running})
		want := map[string]event.Code{"early": event.InstanceDraining, "late": event.InstanceDraining}
		if diff := cmp.Diff(want, k.ended); diff != "" {
			y.Errorf("the host was told to end (-want +got):\n%s", diff)
		}
		_, err := y.Instances.ProcessExited.Do(y.Ctx, instance.ExitReport{HostID: h, InstanceID: i, ProcessID: "early"}) // by an agent that was not told
		y.Must(err)
		if codes, texts := y.told(f); slices.Contains(codes, event.ServerProcessCrashed) {
			y.Errorf("the events are %v:\n%s", codes, texts)
		}
		wait.Settle(time.Minute)
		if _, texts := y.told(f); strings.Contains(texts, "InitSDK within") {
			y.Errorf("the events blame the processes:\n%s", texts)
		}
		y.report(h, instance.InstanceReport{InstanceID: i, Phase: instance.PhaseGone})
		if y.Fleets.Get(y.Store.View(), f.ID) != nil {
			y.Error("the fleet is still there when nothing is left of it")
		}
	})
}

// A program that runs on an instance and does not connect is reported after 10 s,
// once for each instance that never had a process.
func TestHint_NeverConnected(t *testing.T) {
	in(t, instance.Options{}, func(y *yard) {
		f := y.managed("")
		h := y.host()
		i := y.assigned(h)[0].ID
		y.report(h, instance.InstanceReport{InstanceID: i, Phase: instance.Activating, Processes: []instance.ProcessReport{
			{ID: "p", Started: time.Now()}, {ID: "q", Started: time.Now()},
		}})
		wait.Settle(compute.InitHint - moment)
		if _, texts := y.told(f); strings.Contains(texts, "InitSDK") {
			y.Errorf("told too early:\n%s", texts)
		}
		wait.Settle(moment)
		if _, texts := y.told(f); strings.Count(texts, "has not called InitSDK") != 1 || !strings.Contains(texts, "--no-sdk") {
			y.Errorf("want one hint with the remedy:\n%s", texts)
		}
		y.run(h, i, "r")
		y.report(h, instance.InstanceReport{InstanceID: i, Phase: instance.Activating, Processes: []instance.ProcessReport{{ID: "s", Started: time.Now()}}})
		wait.Settle(2 * compute.InitHint)
		if _, texts := y.told(f); strings.Count(texts, "has not called InitSDK") != 1 {
			y.Errorf("an instance that had a process is hinted at:\n%s", texts)
		}
	})
}

// What is offered where no host has joined is what the server does then: the capacity of a fleet
// and its locations can be changed once it is ACTIVE, and that of a location once it is, too.
func TestReason_RemediesWork(t *testing.T) {
	in(t, instance.Options{}, func(y *yard) {
		f := y.managed("", home, away)
		const (
			scale  = "muster fleets scale"
			remove = "delete-fleet-locations"
			wait   = "its first instance makes the fleet ACTIVE"
		)
		none := 0
		try := map[string]func(location string) error{
			scale: func(location string) error {
				_, err := y.Fleets.Capacities.Update.Do(y.Ctx, fleet.CapacityInput{FleetID: f.ID, Location: location, Min: &none, Desired: &none})
				return err
			},
			remove: func(location string) error {
				_, err := y.Fleets.RemoveLocations.Do(y.Ctx, fleet.LocationsInput{FleetID: f.ID, Locations: []string{location}})
				return err
			},
		}
		expect := func(when, location, offered string) {
			y.Helper()
			view := y.Store.View()
			why := y.Instances.Reason(view, y.Fleets.Get(view, f.ID), location, y.Instances.Shortages(view))
			for _, remedy := range []string{scale, remove, wait} {
				if strings.Contains(why, remedy) != (remedy == offered) {
					y.Errorf("%s, %s: want %s alone: %s", when, location, offered, why)
				}
			}
			if try[offered] == nil {
				for name, do := range try {
					if do(location) == nil {
						y.Errorf("%s, %s: %s is not offered, and would work", when, location, name)
					}
				}
			} else if err := try[offered](location); err != nil {
				y.Errorf("%s, %s: %s: %v", when, location, offered, err)
			}
		}
		for _, location := range []string{region, home, away} {
			expect("before the fleet is ACTIVE", location, wait)
		}
		_, h := y.joined(home)
		y.run(h, y.assigned(h)[0].ID, "p")
		if got := y.status(f); got != fleet.Active {
			y.Fatalf("the fleet is %s", got)
		}
		expect("when it is", region, scale)
		expect("when it is", away, remove)
		view := y.Store.View()
		if now := y.Fleets.Get(view, f.ID); now.Place(region).Capacity.Desired != 0 || now.Place(away) != nil && now.Place(away).Status != fleet.Deleting {
			y.Errorf("the fleet is %+v", now)
		}
	})
}
