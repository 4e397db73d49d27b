package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/terminal"
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
	clientFlags
	outputFlags
}

// Run lists the machines that have joined.
func (c *listHostsCommand) Run(t *streams) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	all, err := api.Hosts(t.ctx)
	if err != nil {
		return err
	}
	if c.json() {
		return terminal.WriteJSON(t.out, all)
	}
	view := terminal.Table{Head: []string{"HOST", "NAME", "LOCATION", "ADDRESS", "STATE", "INSTANCES", "PROCESSES", "CPU", "MEMORY MIB", "DISK FREE MIB"}}
	for _, h := range all {
		view.Rows = append(view.Rows, []string{
			h.HostID, h.Name, h.Location, h.IPAddress, hostState(h), strconv.Itoa(h.Instances), strconv.Itoa(h.Processes),
			fmt.Sprintf("%.1f/%.1f", float64(h.Resources.CPUMillisUsed)/1000, float64(h.CPUMillis)/1000),
			fmt.Sprintf("%d/%d", h.Resources.MemoryUsedMiB, h.MemoryMiB), strconv.FormatInt(h.Resources.DiskFreeMiB, 10),
		})
	}
	return view.Write(t.out)
}

type shortagesCommand struct {
	clientFlags
	outputFlags
}

// Run lists what machines are missing for.
func (c *shortagesCommand) Run(t *streams) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	all, err := api.Shortages(t.ctx)
	if err != nil {
		return err
	}
	if c.json() {
		return terminal.WriteJSON(t.out, all)
	}
	view := terminal.Table{Head: []string{"LOCATION", "MISSING", "OS", "CPU EACH", "MEMORY MIB EACH", "PORTS EACH", "FLEET", "WHY"}}
	for _, s := range all {
		view.Rows = append(view.Rows, []string{
			s.Location, strconv.Itoa(s.Missing), s.OS, fmt.Sprintf("%.1f", float64(s.CPUMillis)/1000), strconv.Itoa(s.MemoryMiB),
			strconv.Itoa(s.Ports), s.FleetID, s.Why,
		})
	}
	return view.Write(t.out)
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
	clientFlags
	outputFlags
	ID string `arg:"" help:"The machine's id, as 'muster hosts' shows it."`
}

// with calls the server and shows the machine in its answer.
func (c *hostFlags) with(t *streams, call func(*client.Client) (client.Host, error), show func(io.Writer, client.Host) error) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	h, err := call(api)
	if err != nil {
		return err
	}
	if c.json() {
		return terminal.WriteJSON(t.out, h)
	}
	return show(t.out, h)
}

type showHostCommand struct{ hostFlags }

// Run shows a machine.
func (c *showHostCommand) Run(t *streams) error {
	return c.with(t, func(api *client.Client) (client.Host, error) { return api.Host(t.ctx, c.ID) }, showHost)
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
	facts := terminal.Table{Head: []string{"Host", h.HostID}, Rows: [][]string{
		{"Name", h.Name}, {"Location", h.Location}, {"Address", strings.TrimSpace(h.IPAddress + " " + h.DNSName)}, {"State", hostState(h)},
		{"Agent", fmt.Sprintf("%s, %s/%s", h.Version, h.OS, h.Arch)}, {"Joined", joined}, {"Credential", secret},
		{"Isolation", cmp.Or(h.Isolation, "none")},
		{"Processors", fmt.Sprintf("%.1f of %.1f used", float64(h.Resources.CPUMillisUsed)/1000, float64(h.CPUMillis)/1000)},
		{"Memory", fmt.Sprintf("%d of %d MiB used, %d offered", h.Resources.MemoryUsedMiB, h.Resources.MemoryMiB, h.MemoryMiB)},
		{"Disk", fmt.Sprintf("%d of %d MiB free", h.Resources.DiskFreeMiB, h.Resources.DiskMiB)},
	}}
	if err := facts.Write(out); err != nil || len(h.Instance) == 0 {
		return err
	}
	fmt.Fprintln(out)
	runs := terminal.Table{Head: []string{"INSTANCE", "PHASE", "PROCESS", "PID", "PORT", "STARTED"}}
	for _, i := range h.Instance {
		if len(i.Processes) == 0 {
			runs.Rows = append(runs.Rows, []string{i.InstanceID, i.Phase, "-", "-", "-", "-"})
		}
		for _, p := range i.Processes {
			runs.Rows = append(runs.Rows, []string{
				i.InstanceID, i.Phase, p.ProcessID, strconv.Itoa(p.PID), strconv.Itoa(p.Port), p.Started.Local().Format(time.DateTime),
			})
		}
	}
	return runs.Write(out)
}

type drainHostCommand struct{ hostFlags }

// Run drains a machine.
func (c *drainHostCommand) Run(t *streams) error {
	return c.with(t, func(api *client.Client) (client.Host, error) { return api.DrainHost(t.ctx, c.ID) }, func(out io.Writer, h client.Host) error {
		_, err := fmt.Fprintf(out, "%s takes nothing new. It is empty when 'muster hosts' says drained, or HOST_DRAINED is among the events.\n", h.HostID)
		return err
	})
}

type resumeHostCommand struct{ hostFlags }

// Run makes a drained machine be used again.
func (c *resumeHostCommand) Run(t *streams) error {
	return c.with(t, func(api *client.Client) (client.Host, error) { return api.ResumeHost(t.ctx, c.ID) }, func(out io.Writer, h client.Host) error {
		_, err := fmt.Fprintf(out, "%s is used again.\n", h.HostID)
		return err
	})
}

type rotateHostCommand struct{ hostFlags }

// Run replaces a machine's credential.
func (c *rotateHostCommand) Run(t *streams) error {
	return c.with(t, func(api *client.Client) (client.Host, error) { return api.RotateHost(t.ctx, c.ID) }, func(out io.Writer, h client.Host) error {
		when := "now"
		if !h.Connected {
			when = "when its agent is back"
		}
		_, err := fmt.Fprintf(out, "%s is given a new credential %s. The event HOST_CREDENTIAL_ROTATED tells that the old one is refused.\n", h.HostID, when)
		return err
	})
}

type removeHostCommand struct {
	clientFlags
	outputFlags
	ID  string `arg:"" help:"The machine's id, as 'muster hosts' shows it."`
	Now bool   `help:"Do not wait for its game servers to end."`
}

// Run removes a machine.
func (c *removeHostCommand) Run(t *streams) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	gone, err := api.RemoveHost(t.ctx, c.ID, c.Now)
	if err != nil {
		return err
	}
	if c.json() {
		return terminal.WriteJSON(t.out, map[string]any{"HostID": c.ID, "Gone": gone})
	}
	text := "is removed; its credential is refused"
	if !gone {
		text = "goes with the last of its game servers, which have been told to end; --now does not wait for them"
	}
	_, err = fmt.Fprintf(t.out, "%s %s.\n", c.ID, text)
	return err
}
