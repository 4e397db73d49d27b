package fleetiq_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"github.com/musterhq/muster/fleetiq"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/store"
)

const elsewhere = "custom-elsewhere"

// cell is a cell with game server groups.
type cell struct {
	*celltest.Cell
	iq       *fleetiq.Service
	registry *prometheus.Registry
	hosts    map[string]string // by instance id
}

// in runs f in virtual time, with the loop running.
func in(t *testing.T, o fleetiq.Options, f func(c *cell)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := open(t, store.NewMemory(), o)
		c.Locate(elsewhere)
		c.Start(c.iq.Run)
		f(c)
		c.Close()
	})
}

// open returns an open cell on a driver. The loop does not run yet.
func open(t rapid.TB, driver store.Driver, o fleetiq.Options) *cell {
	t.Helper()
	return openWith(t, celltest.Options{Driver: driver}, o)
}

// openWith is like open with options of the cell.
func openWith(t rapid.TB, of celltest.Options, o fleetiq.Options) *cell {
	t.Helper()
	c := &cell{Cell: celltest.New(t, of), registry: prometheus.NewRegistry(), hosts: map[string]string{}}
	o.Home, o.Registerer = celltest.Home, c.registry
	c.iq = fleetiq.New(c.Store, fleetiq.Deps{Events: c.Events, Tags: c.Tags, Hosts: c.Instances}, o)
	c.Open()
	return c
}

// machine is what each machine of the tests offers.
func machine(name string) instance.HostInfo {
	return instance.HostInfo{Name: name, IPAddress: "192.0.2.1", CPUMillis: 1000, MemoryMiB: 1000, PortFrom: 1, PortTo: 100}
}

// host lets a machine join a location and returns its instance id.
func (c *cell) host(name, location string) string {
	c.Helper()
	token, _, err := c.Instances.CreateJoinToken(c.Ctx, instance.JoinTokenInput{Location: location})
	c.Must(err)
	joined, err := c.Instances.Join(c.Ctx, instance.JoinInput{Token: token, HostInfo: machine(name)})
	c.Must(err)
	id := c.Instances.Host(c.Store.View(), joined.HostID).InstanceID()
	c.hosts[id] = joined.HostID
	return id
}

// instances lets machines join, and returns their instance ids, in order.
func (c *cell) instances(n int) (ids []string) {
	c.Helper()
	for i := range n {
		ids = append(ids, c.host(fmt.Sprintf("i-%017d", i), celltest.Home.Region))
	}
	return ids
}

func (c *cell) drain(instanceID string) {
	c.Helper()
	c.Must(c.Instances.DrainHost.Do(c.Ctx, c.hosts[instanceID]))
}

// input describes a group with nothing special.
func input(name string, change ...func(*fleetiq.CreateInput)) fleetiq.CreateInput {
	in := fleetiq.CreateInput{Group: fleetiq.Group{
		Name: name, RoleARN: "arn:aws:iam::000000000000:role/r", Types: []fleetiq.InstanceType{{Name: "c5.large"}, {Name: "c5.xlarge", Weight: "2"}},
		Machines: fleetiq.Machines{MinSize: 1, MaxSize: 2, TemplateID: "lt-1"},
	}}
	for _, f := range change {
		f(&in)
	}
	return in
}

func (c *cell) group(name string, change ...func(*fleetiq.CreateInput)) *fleetiq.Group {
	c.Helper()
	g, err := c.iq.Groups.Create.Do(c.Ctx, input(name, change...))
	c.Must(err)
	return g
}

// get returns a group, or nil.
func (c *cell) get(name string) *fleetiq.Group { return c.iq.Groups.Get(c.Store.View(), name) }

func (c *cell) delete(name string, how fleetiq.DeleteOption) *fleetiq.Group {
	c.Helper()
	g, err := c.iq.Groups.Delete.Do(c.Ctx, fleetiq.DeleteInput{Group: name, Option: how})
	c.Must(err)
	return g
}

func of(group, id string) fleetiq.ServerName { return fleetiq.ServerName{Group: group, ID: id} }

func (c *cell) tryRegister(group, id, instanceID string) error {
	_, err := c.iq.Servers.Register.Do(c.Ctx, fleetiq.RegisterInput{ServerName: of(group, id), InstanceID: instanceID, Connection: "192.0.2.1:7777"})
	return err
}

func (c *cell) register(group, id, instanceID string) {
	c.Helper()
	c.Must(c.tryRegister(group, id, instanceID))
}

func (c *cell) tryClaim(in fleetiq.ClaimInput) error {
	_, err := c.iq.Servers.Claim.Do(c.Ctx, in)
	return err
}

func (c *cell) claim(in fleetiq.ClaimInput) *fleetiq.GameServer {
	c.Helper()
	v, err := c.iq.Servers.Claim.Do(c.Ctx, in)
	c.Must(err)
	return v
}

func (c *cell) utilize(group, id string) {
	c.Helper()
	_, err := c.iq.Servers.Update.Do(c.Ctx, fleetiq.ServerUpdate{ServerName: of(group, id), Utilization: new(fleetiq.Utilized), Healthy: true})
	c.Must(err)
}

func (c *cell) beat(group, id string) {
	c.Helper()
	_, err := c.iq.Servers.Update.Do(c.Ctx, fleetiq.ServerUpdate{ServerName: of(group, id), Healthy: true})
	c.Must(err)
}

// server returns a game server, or nil.
func (c *cell) server(group, id string) *fleetiq.GameServer {
	v, err := c.iq.Servers.Find(c.Store.View(), of(group, id))
	if err != nil {
		return nil
	}
	return v
}

// listed returns the ids of a group's game servers in the order of their list.
func (c *cell) listed(group string, newestFirst bool) (ids []string) {
	for v := range c.iq.Servers.Of(c.Store.View(), group, newestFirst, "") {
		ids = append(ids, v.ID)
	}
	return ids
}

// second is a little more than what a loop needs to act in virtual time.
const second = time.Second
