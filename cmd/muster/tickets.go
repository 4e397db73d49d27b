package main

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/terminal"
)

// ticketsCommand is `muster tickets`.
type ticketsCommand struct {
	List     listTicketsCommand     `cmd:"" default:"withargs" help:"Show tickets: those that wait, longest first, and the last that ended."`
	Explain  explainTicketCommand   `cmd:"" help:"Say why a ticket waits: what blocks it, what its match lacks, when it would be matched."`
	Overview ticketsOverviewCommand `cmd:"" help:"Say why the tickets of a configuration wait: which rules block most."`
	Export   exportTicketsCommand   `cmd:"" help:"Write the tickets of a configuration as a trace for simulate."`
}

type listTicketsCommand struct {
	watchFlags
	Of            string `arg:"" name:"configuration" optional:"" help:"Only tickets of this matchmaking configuration."`
	Configuration string `placeholder:"NAME" help:"The same as a flag."`
	Status        string `placeholder:"STATUS" help:"Only those that are QUEUED, SEARCHING, REQUIRES_ACCEPTANCE, PLACING, COMPLETED, FAILED, CANCELLED or TIMED_OUT."`
}

// Run shows tickets.
func (c *listTicketsCommand) Run(t *streams, view *terminal.Terminal) error {
	if c.Of != "" && c.Configuration != "" && c.Of != c.Configuration {
		return fmt.Errorf("tickets of %s and of %s: name one configuration", c.Of, c.Configuration)
	}
	err := oneOf("status", c.Status, "QUEUED", "SEARCHING", "REQUIRES_ACCEPTANCE", "PLACING", "COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT")
	if err != nil {
		return err
	}
	return view.Tickets(t.ctx, cmp.Or(c.Of, c.Configuration), c.Status)
}

type explainTicketCommand struct {
	lookFlags
	ID string `arg:"" help:"The TicketId."`
}

// Run explains a ticket.
func (c *explainTicketCommand) Run(t *streams, view *terminal.Terminal) error {
	return view.ExplainTicket(t.ctx, c.ID)
}

type ticketsOverviewCommand struct {
	lookFlags
	Configuration string `arg:"" help:"Name of the matchmaking configuration."`
}

// Run explains the pool of a configuration.
func (c *ticketsOverviewCommand) Run(t *streams, view *terminal.Terminal) error {
	return view.ExplainMatchmaking(t.ctx, c.Configuration)
}

type exportTicketsCommand struct {
	clientFlags
	Configuration string        `arg:"" help:"Name of the matchmaking configuration."`
	Last          time.Duration `placeholder:"DURATION" help:"Only tickets that came so long ago or later; without it all that are kept."`
	Out           string        `placeholder:"FILE" type:"path" help:"Write the trace there instead of to the terminal."`
}

// Run writes the trace.
func (c *exportTicketsCommand) Run(t *streams, from *client.Client) error {
	var since time.Time
	if c.Last > 0 {
		since = time.Now().Add(-c.Last)
	}
	trace := func(out io.Writer) error { return from.Matchmaking().Trace(t.ctx, c.Configuration, since, out) }
	if c.Out == "" {
		return trace(t.out)
	}
	return writeFile(c.Out, trace)
}
