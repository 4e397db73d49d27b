package demo

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/wake"
	"github.com/musterhq/muster/session"
)

// retryAfter is the pause before another demo session after a failure, and look is how
// often to look for a free process without an event that reports one.
const (
	retryAfter = 2 * time.Second
	look       = 25 * time.Millisecond
)

// seats is the size of a demo session: for the bots, and for some people.
const seats = 8

// keepPlaying keeps one game session with bots going until ctx ends.
func (d *Demo) keepPlaying(ctx context.Context) {
	first := true
	for d.opts.Players > 0 && ctx.Err() == nil {
		g := d.running(ctx)
		if g != nil {
			d.say("The demo session goes on: %s", g.ID)
			d.until(ctx, 0, func() bool { return d.over(ctx, g.ID) })
			continue
		}
		if err := d.play(ctx, first); err != nil && ctx.Err() == nil {
			d.log.Warn("demo session ended early", "error", err)
			wake.Sleep(ctx, retryAfter)
		}
		first = false
	}
	<-ctx.Done()
}

// running returns a demo session with players that an earlier server left, or nil.
func (d *Demo) running(ctx context.Context) *session.GameSession {
	page, _, err := d.s.Sessions.List(ctx, session.Query{FleetID: d.place.FleetID, Status: session.Active, Limit: 100})
	if err != nil {
		return nil
	}
	for _, g := range page {
		if g.Name == name && d.s.Sessions.Players.Count(d.s.Store.View(), g.ID) > 0 {
			return g
		}
	}
	return nil
}

// play runs one game session from its creation to its end.
func (d *Demo) play(ctx context.Context, first bool) error {
	g, err := d.create(ctx)
	if err != nil {
		return err
	}
	d.until(ctx, 0, func() bool {
		g, err = d.s.Sessions.Get(ctx, g.ID)
		return err != nil || g.Status != session.Activating
	})
	if err != nil || g.Status != session.Active {
		return fmt.Errorf("demo session did not become ACTIVE: %w", err)
	}
	players, err := d.s.Sessions.Players.Reserve(ctx, session.ReserveInput{GameSessionID: g.ID, Players: d.joining()})
	if err != nil {
		return err
	}
	if first {
		d.say("A demo session is ACTIVE, %.2f s after the start, with %d bots in it: %s", time.Since(d.s.Started).Seconds(), len(players), g.ID)
	}
	return d.runBots(ctx, g, players)
}

// create creates the game session as soon as a process is free.
func (d *Demo) create(ctx context.Context) (g *session.GameSession, err error) {
	d.until(ctx, look, func() bool {
		g, err = d.s.Sessions.Create(ctx, session.CreateInput{
			FleetID: d.place.FleetID, Location: d.s.Places.Location, Name: name, MaxPlayers: seats,
			Properties: []session.Property{{Key: "mode", Value: "demo"}},
		})
		return !fault.Is(err, fault.FleetCapacityExceeded)
	})
	if g == nil && err == nil {
		err = ctx.Err()
	}
	return g, err
}

func (d *Demo) joining() []session.Joining {
	list := make([]session.Joining, min(d.opts.Players, seats-1))
	for i := range list {
		list[i].PlayerID = "bot-" + strconv.Itoa(i+1)
	}
	return list
}

// runBots runs the arena program as all players until the game is over.
func (d *Demo) runBots(ctx context.Context, g *session.GameSession, players []*session.PlayerSession) error {
	args := []string{"bot", "--for", "0", "--json", "--addr", net.JoinHostPort(g.IPAddress, strconv.Itoa(g.Port))}
	for _, p := range players {
		args = append(args, "--player-session", p.ID)
	}
	log, err := os.Create(filepath.Join(d.s.Dir, "bots.log"))
	if err != nil {
		return fmt.Errorf("make the bots' log: %w", err)
	}
	defer log.Close()
	bots := exec.CommandContext(ctx, d.program, args...)
	bots.Cancel = func() error { return bots.Process.Signal(os.Interrupt) }
	bots.WaitDelay = 3 * time.Second
	bots.Stdout, bots.Stderr = log, log
	if err := bots.Run(); err != nil {
		return fmt.Errorf("bots: %w", err)
	}
	d.until(ctx, 0, func() bool { return d.over(ctx, g.ID) })
	return nil
}

func (d *Demo) over(ctx context.Context, id string) bool {
	g, err := d.s.Sessions.Get(ctx, id)
	return err != nil || g.Status.Ended()
}

// until waits for a condition, checking it after events and, if every is not 0, at that
// interval. It gives up when ctx ends.
func (d *Demo) until(ctx context.Context, every time.Duration, holds func() bool) {
	nudge, end := d.s.Events.Watch()
	defer end()
	var tick <-chan time.Time
	if every > 0 {
		t := time.NewTicker(every)
		defer t.Stop()
		tick = t.C
	}
	for ctx.Err() == nil && !holds() {
		select {
		case <-ctx.Done():
		case <-nudge:
		case <-tick:
		}
	}
}

// rules match players of about the same skill, two to four at a time, so that the page has a
// rule to show. Who says none has 10.
const rules = `{
  "name": "alike",
  "ruleLanguageVersion": "1.0",
  "playerAttributes": [{"name": "skill", "type": "number", "default": 10}],
  "teams": [{"name": "players", "minPlayers": 2, "maxPlayers": 4}],
  "rules": [{
    "name": "AlikeSkill", "type": "distance", "measurements": ["flatten(teams[*].players.attributes[skill])"],
    "referenceValue": "avg(flatten(teams[*].players.attributes[skill]))", "maxDistance": 20
  }]
}`
