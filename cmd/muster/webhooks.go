package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/terminal"
)

// webhooksCommand is `muster webhooks`.
type webhooksCommand struct {
	List  listSinksCommand   `cmd:"" default:"withargs" help:"Show the sinks, and whether they take what they are sent."`
	Dead  deadLettersCommand `cmd:"" help:"Show the messages that a sink did not take, and why."`
	Again redeliverCommand   `cmd:"" help:"Send a sink the messages that it did not take once more."`
}

type listSinksCommand struct{ watchFlags }

// Run lists the sinks.
func (c *listSinksCommand) Run(t *streams, view *terminal.Terminal) error {
	head := []string{"SINK", "KIND", "URL", "DELIVERED", "FAILED", "REFUSED", "DEAD LETTERS", "BEHIND"}
	return terminal.List(t.ctx, view, view.Client.Webhooks().Sinks, head, func(s client.Sink) []string {
		return []string{
			s.Name, s.Kind, s.URL, strconv.Itoa(s.Attempts.Delivered), strconv.Itoa(s.Attempts.Failed), strconv.Itoa(s.Attempts.Refused),
			strconv.Itoa(s.DeadLetters), fmt.Sprintf("%.0f s", s.LagSeconds),
		}
	})
}

type deadLettersCommand struct {
	lookFlags
	Sink string `arg:"" help:"The sink's name, as 'muster webhooks' shows it."`
}

// Run lists the dead letters of a sink.
func (c *deadLettersCommand) Run(t *streams, view *terminal.Terminal) error {
	read := func(ctx context.Context) ([]client.DeadLetter, error) {
		return view.Client.Webhooks().DeadLetters(ctx, c.Sink)
	}
	return terminal.List(t.ctx, view, read, []string{"EVENT", "MESSAGE", "LAST", "ATTEMPTS", "WHY"}, func(d client.DeadLetter) []string {
		why := d.Error
		if d.Again {
			why = "is being delivered again; before: " + why
		}
		return []string{strconv.FormatUint(d.Seq, 10), d.DetailType, d.Time.Local().Format(time.DateTime), strconv.Itoa(d.Attempts), why}
	})
}

type redeliverCommand struct {
	lookFlags
	Sink   string   `arg:"" help:"The sink's name, as 'muster webhooks' shows it."`
	Events []uint64 `arg:"" optional:"" help:"Numbers of events, as 'muster webhooks dead' shows them; none means all."`
}

// Run has dead letters delivered again.
func (c *redeliverCommand) Run(t *streams, view *terminal.Terminal) error {
	n, err := view.Client.Webhooks().Redeliver(t.ctx, c.Sink, c.Events...)
	if err != nil {
		return err
	}
	return view.Report(map[string]any{"sink": c.Sink, "redelivering": n}, "Dead letters that %s is sent again: %d. Those that it takes are gone from 'muster webhooks dead'.", c.Sink, n)
}
