package instance_test

import (
	"testing"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/session"
)

// In a cluster a game server may be ready before its node is reported, and the next run of its
// group may be on another node. It gets a game session once its own address is known.
func TestGroups_AddressesOfNodes(t *testing.T) {
	inQuay(t, func(q *quay) {
		h := q.dock(func(m *instance.HostInfo) { m.Engine, m.NoBuilds, m.Nodes = "kubernetes 1.36", true, true })
		q.create(func(in *fleet.ContainerInput) { in.Copies = 1 })
		id := q.assigned(h)[0].ID
		report := func(process, address string) {
			q.report(h, instance.InstanceReport{
				InstanceID: id, Phase: instance.Activating, Processes: []instance.ProcessReport{{ID: process, Group: "0"}},
				Groups: []instance.GroupReport{{Name: "0", Phase: instance.GroupRunning, ProcessID: process, Address: compute.Address{IPAddress: address}}},
			})
		}
		for _, run := range []struct {
			process, address string
			reported         bool // before it connects
		}{{"p-1", "10.0.0.1", false}, {"p-2", "10.0.0.2", false}, {"p-3", "10.0.0.2", true}} {
			if run.reported {
				report(run.process, run.address)
			}
			ref := compute.Ref{FleetID: q.fleetID, ComputeName: compute.GroupName(id, "0"), ProcessID: run.process}
			q.Ready(ref, &celltest.Link{}, 7777)
			in := session.CreateInput{FleetID: q.fleetID, MaxPlayers: 2, Location: region}
			if !run.reported {
				if g, err := q.Sessions.Create(q.Ctx, in); !fault.Is(err, fault.FleetCapacityExceeded) {
					q.Fatalf("before the node of %s is known there is a game session: %+v, %v", run.process, g, err)
				}
				report(run.process, run.address)
			}
			g, err := q.Sessions.Create(q.Ctx, in)
			q.Must(err)
			if g.IPAddress != run.address {
				q.Errorf("players of %s are sent to %s, want %s", run.process, g.IPAddress, run.address)
			}
			q.Must(q.Computes.End(q.Ctx, ref))
		}
	})
}

// The next run of a group may be on another node before the last one has ended: players of the
// game session on that one still go to its node. They follow if the node has another address.
func TestGroups_RunsOnTwoNodes(t *testing.T) {
	inQuay(t, func(q *quay) {
		h := q.dock(func(m *instance.HostInfo) { m.Engine, m.NoBuilds, m.Nodes = "kubernetes 1.36", true, true })
		q.create(func(in *fleet.ContainerInput) { in.Copies = 1 })
		id := q.assigned(h)[0].ID
		report := func(address compute.Address, process string, others ...string) {
			in := instance.InstanceReport{InstanceID: id, Phase: instance.Activating}
			for _, one := range append(others, process) {
				in.Processes = append(in.Processes, instance.ProcessReport{ID: one, Group: "0"})
			}
			in.Groups = []instance.GroupReport{{Name: "0", Phase: instance.GroupRunning, ProcessID: process, Address: address}}
			q.report(h, in)
		}
		ready := func(process string) {
			q.Ready(compute.Ref{FleetID: q.fleetID, ComputeName: compute.GroupName(id, "0"), ProcessID: process}, &celltest.Link{}, 7777)
		}
		report(compute.Address{IPAddress: "10.0.0.1"}, "p-1")
		ready("p-1")
		g, err := q.Sessions.Create(q.Ctx, session.CreateInput{FleetID: q.fleetID, MaxPlayers: 2, Location: region})
		q.Must(err)
		at := func(want compute.Address) {
			q.Helper()
			if now := q.Sessions.Live(q.Store.View(), g.ID); now.Address != want.Shown() {
				q.Errorf("players are sent to %+v, want %+v", now.Address, want)
			}
		}
		both := compute.Address{IPAddress: "10.0.0.2", IPv6Address: "2001:db8::2", DNSName: "node.test"}
		report(both, "p-1")
		at(both)
		report(compute.Address{IPAddress: "10.0.0.3"}, "p-2", "p-1")
		at(both)
	})
}
