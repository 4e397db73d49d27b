package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/musterhq/muster/console/client"
)

// hostsCommand is `muster hosts`.
type hostsCommand struct {
	List   listHostsCommand  `cmd:"" default:"withargs" help:"Show the machines, and what runs on them."`
	Show   showHostCommand   `cmd:"" help:"Show one machine, with its game servers."`
	Drain  drainHostCommand  `cmd:"" help:"Place nothing new on a machine; what is played there is played to its end."`
	Resume resumeHostCommand `cmd:"" help:"Use a drained machine again."`
	Remove removeHostCommand `cmd:"" help:"End what runs on a machine, and forget it: its credential is refused from then on."`
	Rotate rotateHostCommand `cmd:"" help:"Give a machine's agent a new credential; the old one is refused once the agent has kept it."`
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
		return json.NewEncoder(t.out).Encode(all)
	}
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "HOST\tNAME\tLOCATION\tADDRESS\tSTATE\tINSTANCES\tPROCESSES\tCPU\tMEMORY MIB\tDISK FREE MIB")
	for _, h := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%.1f/%.1f\t%d/%d\t%d\n", h.HostID, h.Name, h.Location, h.IPAddress, hostState(h), h.Instances, h.Processes,
			float64(h.Resources.CPUMillisUsed)/1000, float64(h.CPUMillis)/1000, h.Resources.MemoryUsedMiB, h.MemoryMiB, h.Resources.DiskFreeMiB)
	}
	return w.Flush()
}

// hostState is a machine's state in a word or two.
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

// hostFlags are what the commands about one machine share.
type hostFlags struct {
	clientFlags
	outputFlags
	ID string `arg:"" help:"The machine's id, as 'muster hosts' shows it."`
}

// with calls the server and shows the machine that it answers with.
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
		return json.NewEncoder(t.out).Encode(h)
	}
	return show(t.out, h)
}

type showHostCommand struct{ hostFlags }

// Run shows a machine.
func (c *showHostCommand) Run(t *streams) error {
	return c.with(t, func(api *client.Client) (client.Host, error) { return api.Host(t.ctx, c.ID) }, showHost)
}

func showHost(out io.Writer, h client.Host) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name string, value any) { fmt.Fprintf(w, "%s\t%v\n", name, value) }
	line("Host", h.HostID)
	line("Name", h.Name)
	line("Location", h.Location)
	line("Address", strings.TrimSpace(h.IPAddress+" "+h.DNSName))
	line("State", hostState(h))
	line("Agent", fmt.Sprintf("%s, %s/%s", h.Version, h.OS, h.Arch))
	joined := h.Joined.Local().Format(time.DateTime)
	if h.JoinToken != "" {
		joined += " with " + h.JoinToken
	}
	line("Joined", joined)
	secret := "since " + h.SecretSince.Local().Format(time.DateTime)
	if h.Rotating {
		secret += ", a new one waits for the agent"
	}
	line("Credential", secret)
	line("Processors", fmt.Sprintf("%.1f of %.1f used", float64(h.Resources.CPUMillisUsed)/1000, float64(h.CPUMillis)/1000))
	line("Memory", fmt.Sprintf("%d of %d MiB used, %d offered", h.Resources.MemoryUsedMiB, h.Resources.MemoryMiB, h.MemoryMiB))
	line("Disk", fmt.Sprintf("%d of %d MiB free", h.Resources.DiskFreeMiB, h.Resources.DiskMiB))
	if len(h.Instance) > 0 {
		fmt.Fprintln(w, "\nINSTANCE\tPHASE\tPROCESS\tPID\tPORT\tSTARTED")
	}
	for _, i := range h.Instance {
		if len(i.Processes) == 0 {
			fmt.Fprintf(w, "%s\t%s\t-\t-\t-\t-\n", i.InstanceID, i.Phase)
		}
		for _, p := range i.Processes {
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\n", i.InstanceID, i.Phase, p.ProcessID, p.PID, p.Port, p.Started.Local().Format(time.DateTime))
		}
	}
	return w.Flush()
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

// Run has a machine used again.
func (c *resumeHostCommand) Run(t *streams) error {
	return c.with(t, func(api *client.Client) (client.Host, error) { return api.ResumeHost(t.ctx, c.ID) }, func(out io.Writer, h client.Host) error {
		_, err := fmt.Fprintf(out, "%s is used again.\n", h.HostID)
		return err
	})
}

type rotateHostCommand struct{ hostFlags }

// Run has a machine's credential replaced.
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
		return json.NewEncoder(t.out).Encode(map[string]any{"HostID": c.ID, "Gone": gone})
	}
	text := "is removed; its credential is refused"
	if !gone {
		text = "goes with the last of its game servers, which have been told to end; --now does not wait for them"
	}
	_, err = fmt.Fprintf(t.out, "%s %s.\n", c.ID, text)
	return err
}
