package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/terminal"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/plain"
	"github.com/musterhq/muster/internal/release"
)

// hostsCommand is `muster hosts`.
type hostsCommand struct {
	List      listHostsCommand  `cmd:"" default:"withargs" help:"Show the machines, and what runs on them."`
	Shortages shortagesCommand  `cmd:"" help:"Show the instances that fleets desire and no machine has room for."`
	Show      showHostCommand   `cmd:"" help:"Show one machine, with its game servers."`
	Drain     drainHostCommand  `cmd:"" help:"Place nothing new on a machine; what is played there is played to its end."`
	Resume    resumeHostCommand `cmd:"" help:"Use a drained machine again."`
	Remove    removeHostCommand `cmd:"" help:"End what runs on a machine, and forget it: its credential is refused from then on."`
	Rotate    rotateHostCommand `cmd:"" help:"Give a machine's agent a new credential; the old one is refused once the agent has kept it."`
}

type listHostsCommand struct {
	watchFlags
	Location string `placeholder:"NAME" help:"Only machines of this location."`
	Status   string `placeholder:"STATE" help:"Only those that are connected, away, draining, drained or removing."`
}

// Run lists the machines that have joined.
func (c *listHostsCommand) Run(t *streams, view *terminal.Terminal) error {
	if err := oneOf("status", c.Status, "connected", "away", "draining", "drained", "removing"); err != nil {
		return err
	}
	read := only(view.Client.Hosts().List, func(h client.Host) bool {
		return (c.Location == "" || h.Location == c.Location) &&
			(c.Status == "" || slices.Contains(strings.Split(hostState(h), ","), strings.ToLower(c.Status)))
	})
	head := []string{"HOST", "NAME", "LOCATION", "ADDRESS", "STATE", "INSTANCES", "PROCESSES", "CPU", "MEMORY MIB", "OFFERED CPU, MIB", "DISK FREE MIB", "AGENT"}
	return terminal.List(t.ctx, view, read, head, func(h client.Host) []string {
		cpu, memory, disk := fmt.Sprintf("-/%s", processors(h.CPUMillis)), fmt.Sprintf("-/%d", h.MemoryMiB), "-"
		if measures(h) {
			has := machineOf(h)
			cpu, memory = fmt.Sprintf("%s/%s", processors(h.Resources.CPUMillisUsed), processors(has.CPUMillis)), fmt.Sprintf("%d/%d", h.Resources.MemoryUsedMiB, has.MemoryMiB)
			disk = strconv.FormatInt(h.Resources.DiskFreeMiB, 10)
		}
		return []string{
			h.HostID, h.Name, h.Location, h.IPAddress, hostState(h), strconv.Itoa(h.Instances), strconv.Itoa(h.Processes),
			cpu, memory, fmt.Sprintf("%s, %d", processors(h.CPUMillis), h.MemoryMiB), disk, agentOf(h),
		}
	})
}

// only returns read without what is not to be shown.
func only[T any](read func(context.Context) ([]T, error), shown func(T) bool) func(context.Context) ([]T, error) {
	return func(ctx context.Context) ([]T, error) {
		all, err := read(ctx)
		return slices.DeleteFunc(all, func(v T) bool { return !shown(v) }), err
	}
}

type shortagesCommand struct {
	watchFlags
	Location string `placeholder:"NAME" help:"Only those in this location."`
	Fleet    string `placeholder:"FLEET" help:"Only this fleet's: name, id, or a part of the id."`
}

// Run lists what machines are missing for.
func (c *shortagesCommand) Run(t *streams, view *terminal.Terminal) error {
	id := ""
	if c.Fleet != "" {
		var err error
		if id, err = view.Client.FindFleetID(t.ctx, c.Fleet); err != nil {
			return err
		}
	}
	read := only(view.Client.Hosts().Shortages, func(s protocol.Shortage) bool {
		return (c.Location == "" || s.Location == c.Location) && (id == "" || s.FleetID == id)
	})
	head := []string{"LOCATION", "MISSING", "OS", "CPU EACH", "MEMORY MIB EACH", "PORTS EACH", "FLEET", "WHY"}
	return terminal.List(t.ctx, view, read, head, func(s protocol.Shortage) []string {
		return []string{
			s.Location, strconv.Itoa(s.Missing), s.OS, fmt.Sprintf("%.1f", float64(s.CPUMillis)/1000), strconv.Itoa(s.MemoryMiB),
			strconv.Itoa(s.Ports), s.FleetID, s.Why,
		}
	})
}

// measures reports whether a machine has said what is in use. A Kubernetes cluster does not measure it.
func measures(h client.Host) bool { return h.Resources.DiskMiB > 0 }

// machineOf returns what a machine has. An agent that does not say offers what it has, as far as is
// known.
func machineOf(h client.Host) protocol.Resources {
	has := h.Resources
	has.CPUMillis, has.MemoryMiB = cmp.Or(has.CPUMillis, h.CPUMillis), cmp.Or(has.MemoryMiB, h.MemoryMiB)
	return has
}

// processors returns a number of processors for people.
func processors(millis int) string { return fmt.Sprintf("%.1f", float64(millis)/1000) }

// agentOf returns the release of a machine's agent, and whether it is supported.
func agentOf(h client.Host) string {
	if h.Unsupported != "" {
		return release.Of(h.Version) + " (unsupported)"
	}
	return release.Of(h.Version)
}

// hostState returns a machine's state in a word or two.
func hostState(h client.Host) string {
	var words []string
	if !h.Connected {
		words = append(words, "away")
	}
	switch {
	case h.Removing:
		words = append(words, "removing")
	case h.Draining && h.Instances == 0:
		words = append(words, "drained")
	case h.Draining:
		words = append(words, "draining")
	}
	if len(words) == 0 {
		return "connected"
	}
	return strings.Join(words, ",")
}

// hostFlags are shared by the commands for one machine.
type hostFlags struct {
	lookFlags
	ID string `arg:"" help:"The machine: its name, its id, or a part that only its id begins or ends with; 'muster hosts' shows them."`
}

// find puts the machine's whole id in place of what was typed.
func (f *hostFlags) find(t *streams, view *terminal.Terminal) error {
	id, err := view.Client.Hosts().FindID(t.ctx, f.ID)
	f.ID = id
	return err
}

type showHostCommand struct{ hostFlags }

// Run shows a machine.
func (c *showHostCommand) Run(t *streams, view *terminal.Terminal) error {
	if err := c.find(t, view); err != nil {
		return err
	}
	h, err := view.Client.Hosts().Get(t.ctx, c.ID)
	if err != nil {
		return err
	}
	if view.JSON {
		return terminal.WriteJSON(t.out, h)
	}
	return showHost(t.out, h)
}

func showHost(out io.Writer, h client.Host) error {
	joined := h.Joined.Local().Format(time.DateTime)
	if h.JoinToken != "" {
		joined += " with " + h.JoinToken
	}
	secret := "since " + h.SecretSince.Local().Format(time.DateTime)
	if h.Rotating {
		secret += ", a new one waits for the agent"
	}
	agent := fmt.Sprintf("%s, %s/%s", h.Version, h.OS, h.Arch)
	if h.Unsupported != "" {
		agent += "; " + h.Unsupported
	}
	cpu := fmt.Sprintf("%s of %s used, %s offered", processors(h.Resources.CPUMillisUsed), processors(machineOf(h).CPUMillis), processors(h.CPUMillis))
	memory := fmt.Sprintf("%d of %d MiB used, %d offered", h.Resources.MemoryUsedMiB, h.Resources.MemoryMiB, h.MemoryMiB)
	disk := fmt.Sprintf("%d of %d MiB free", h.Resources.DiskFreeMiB, h.Resources.DiskMiB)
	if !measures(h) {
		cpu, memory, disk = processors(h.CPUMillis)+" offered, use not measured", fmt.Sprintf("%d MiB offered, use not measured", h.MemoryMiB), "not measured"
	}
	facts := terminal.Table{Head: []string{"Host", h.HostID}, Rows: [][]string{
		{"Name", h.Name}, {"Instance id", h.InstanceID}, {"Location", h.Location}, {"Address", strings.Join(strings.Fields(h.IPAddress+" "+h.IPv6+" "+h.DNSName), " ")}, {"State", hostState(h)},
		{"Agent", agent}, {"Joined", joined}, {"Credential", secret},
		{"Isolation", cmp.Or(h.Isolation, "none")}, {"Shells", shellsOf(h.Shells)}, {"Shells in containers", shellsOf(h.ContainerShells)},
		{"Processors", cpu}, {"Memory", memory}, {"Ports", portsOf(h)}, {"Disk", disk},
	}}
	all := slices.Concat(h.Instance, h.Own)
	if err := facts.Write(out); err != nil || len(all) == 0 {
		return err
	}
	fmt.Fprintln(out)
	runs := terminal.Table{Head: []string{"INSTANCE", "PHASE", "PROCESS", "PID", "PORT", "STARTED"}}
	for _, i := range all {
		if len(i.Processes)+len(i.Groups) == 0 {
			runs.Rows = append(runs.Rows, []string{i.InstanceID, string(i.Phase), "-", "-", "-", "-"})
		}
		for _, p := range i.Processes {
			runs.Rows = append(runs.Rows, []string{
				i.InstanceID, phaseOf(i.Phase), p.ProcessID, strconv.Itoa(p.PID), strconv.Itoa(p.Port), p.Started.Local().Format(time.DateTime),
			})
		}
		for _, g := range i.Groups {
			if g.ProcessID != "" {
				runs.Rows = append(runs.Rows, []string{i.InstanceID, phaseOf(i.Phase), g.ProcessID, "-", "-", g.Started.Local().Format(time.DateTime)})
			}
		}
	}
	return runs.Write(out)
}

// phaseOf returns the phase of an instance that has processes. The one in which they are kept
// running is called ACTIVATING, as fleets in it are at first.
func phaseOf(p protocol.Phase) string {
	if p == protocol.Activating {
		return "RUNNING"
	}
	return string(p)
}

// portsOf returns the ports that a host offers, and for how many instances they are enough.
func portsOf(h client.Host) string {
	text := fmt.Sprintf("%d to %d", h.PortFrom, h.PortTo)
	switch {
	case h.PortFrom == 0:
		return "-"
	case h.PortRoom == 0:
		return text + fmt.Sprintf(", not enough for another instance, which takes %d: start the agent with more (--ports)", protocol.PortsAnInstance)
	}
	return text + ", enough for " + plain.Count(h.PortRoom, "more instance")
}

// shellsOf returns whether a host runs remote shells.
func shellsOf(o *protocol.ShellOffer) string {
	switch {
	case o == nil:
		return "unknown"
	case o.Offered:
		return "allowed"
	}
	return "refused: " + o.Why
}

type drainHostCommand struct{ hostFlags }

// Run drains a machine.
func (c *drainHostCommand) Run(t *streams, view *terminal.Terminal) error {
	if err := c.find(t, view); err != nil {
		return err
	}
	h, err := view.Client.Hosts().Drain(t.ctx, c.ID)
	if err != nil {
		return err
	}
	if n := ownProcesses(h); n > 0 {
		return view.Report(h, "%s takes no new instances. %s of 'muster local' itself %s no part in that: end that program to end them.",
			h.HostID, plain.Count(n, "game server"), map[bool]string{true: "has", false: "have"}[n == 1])
	}
	return view.Report(h, "%s takes nothing new. It is empty when 'muster hosts' says drained, or HOST_DRAINED is among the events.", h.HostID)
}

// ownProcesses returns how many game servers a machine runs without being told to, as 'muster
// local' does.
func ownProcesses(h client.Host) int {
	n := 0
	for _, i := range h.Own {
		n += len(i.Processes)
		for _, g := range i.Groups {
			if g.ProcessID != "" {
				n++
			}
		}
	}
	return n
}

type resumeHostCommand struct{ hostFlags }

// Run makes a drained machine be used again.
func (c *resumeHostCommand) Run(t *streams, view *terminal.Terminal) error {
	if err := c.find(t, view); err != nil {
		return err
	}
	h, err := view.Client.Hosts().Resume(t.ctx, c.ID)
	if err != nil {
		return err
	}
	return view.Report(h, "%s is used again.", h.HostID)
}

type rotateHostCommand struct{ hostFlags }

// Run replaces a machine's credential.
func (c *rotateHostCommand) Run(t *streams, view *terminal.Terminal) error {
	if err := c.find(t, view); err != nil {
		return err
	}
	h, err := view.Client.Hosts().Rotate(t.ctx, c.ID)
	if err != nil {
		return err
	}
	when := "now"
	if !h.Connected {
		when = "when its agent is back"
	}
	return view.Report(h, "%s is given a new credential %s. The event HOST_CREDENTIAL_ROTATED says that the old one is refused.", h.HostID, when)
}

type removeHostCommand struct {
	hostFlags
	Now bool `help:"Do not wait for its game servers to end."`
}

// Run removes a machine.
func (c *removeHostCommand) Run(t *streams, view *terminal.Terminal) error {
	if err := c.find(t, view); err != nil {
		return err
	}
	h, err := view.Client.Hosts().Get(t.ctx, c.ID)
	switch {
	case err != nil:
		return err
	case ownProcesses(h) > 0:
		return fmt.Errorf("%s is the machine of 'muster local' itself, which would join again at once: end that program instead", c.ID)
	}
	gone, err := view.Client.Hosts().Remove(t.ctx, c.ID, c.Now)
	if err != nil {
		return err
	}
	text := "is removed; its credential is refused"
	if !gone {
		text = "goes with the last of its game servers, which have been told to end; --now does not wait for them"
	}
	return view.Report(protocol.Removal{HostID: c.ID, Gone: gone}, "%s %s.", c.ID, text)
}
