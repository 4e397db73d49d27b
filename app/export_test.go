package app

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/build"
	"github.com/musterhq/muster/build/object"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/cell"
	"github.com/musterhq/muster/internal/wait"
)

// Handler serves requests as the listener does, without the outer door.
func (a *App) Handler() http.Handler { return a.front() }

// DataDir returns the data directory.
func (a *App) DataDir() string { return a.opts.DataDir }

// MakeFleet creates a managed fleet of an archive, without the API.
func (a *App) MakeFleet(t testing.TB, archive []byte, change func(*fleet.CreateInput)) *fleet.Fleet {
	t.Helper()
	return a.MakeFleetIn(t, a.regions[0].name, archive, change)
}

// MakeFleetIn is MakeFleet in a region.
func (a *App) MakeFleetIn(t testing.TB, region string, archive []byte, change func(*fleet.CreateInput)) *fleet.Fleet {
	t.Helper()
	ctx, d := t.Context(), a.regionOf(region).now.Load().domain
	b, err := d.builds.Create.Do(ctx, build.CreateInput{Name: "test", OS: "AMAZON_LINUX_2023"})
	check(t, err)
	content, err := d.objects.Stage(bytes.NewReader(archive), 1<<30)
	check(t, err)
	at := d.builds.Place(b)
	_, err = d.objects.Put(ctx, &object.Object{Bucket: at.Bucket, Key: at.Key}, content)
	check(t, err)
	wait.For(t, "the build is READY", func() error {
		if now := d.builds.Get(d.store.View(), b.ID); now.Status != build.Ready {
			return fmt.Errorf("it is %v: %s", now.Status, now.Reason)
		}
		return nil
	})
	in := fleet.CreateInput{
		Name: "managed", ComputeType: fleet.EC2,
		Managed: &fleet.Managed{BuildID: b.ID, InstanceType: "c5.large"},
		Runtime: fleet.Runtime{Processes: []fleet.ProcessSpec{{LaunchPath: "/local/game/server", Parameters: "server", Concurrent: 2}}},
	}
	if change != nil {
		change(&in)
	}
	f, err := d.fleets.Create.Do(ctx, in)
	check(t, err)
	return f
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// JoinToken creates a join token for the home region.
func (a *App) JoinToken(ctx context.Context) (string, error) {
	token, _, err := a.home().domain.instances.CreateJoinToken(ctx, instance.JoinTokenInput{Location: a.opts.Region})
	return token, err
}

// Logs returns the stored logs of a fleet's processes, by key.
func (a *App) Logs(fleetID string) map[string]int64 {
	all := map[string]int64{}
	for o := range a.home().domain.objects.List(a.home().domain.store.View(), object.LogBucket, fleetID+"/", "") {
		all[o.Key] = o.Size
	}
	return all
}

// OwnWithoutLease makes an app that was not started own the cell as if it had got the
// lease long ago.
func (a *App) OwnWithoutLease(ctx context.Context) error {
	r := a.home()
	var err error
	if r.member.keeper, err = cell.Open(ctx, cell.Options{URL: a.opts.Store, Cell: "of its own"}); err != nil {
		return err
	}
	if err := r.member.keeper.Close(ctx); err != nil {
		return err
	}
	r.member.gate = cell.NewGate(r.member.keeper)
	return r.own(ctx)
}

// Addr returns the listener's address: nil before Start.
func (a *App) Addr() net.Addr {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.site.listener == nil {
		return nil
	}
	return a.site.listener.Addr()
}

// MetricsAddr returns the address of the metrics' separate listener: nil if there is none,
// and before Start.
func (a *App) MetricsAddr() net.Addr {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.metrics.listener == nil {
		return nil
	}
	return a.metrics.listener.Addr()
}

// CertificatePath returns what GetComputeCertificate answers on a compute.
func (a *App) CertificatePath(fleetID, computeName string) string {
	if c := a.home().domain.computes.Get(a.home().domain.store.View(), fleetID, computeName); c != nil {
		return c.CertificatePath
	}
	return ""
}

// DescribeMetrics sends what describes the metrics of the node and its regions.
func (a *App) DescribeMetrics(to chan<- *prometheus.Desc) {
	a.metrics.registry.Describe(to)
	for _, g := range a.regions {
		g.now.Load().registry.Describe(to)
	}
}
