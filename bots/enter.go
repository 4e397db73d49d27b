package bots

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/musterhq/muster/beacon"
	"github.com/musterhq/muster/sdk/session/player"
)

// leaveTimeout is how long a bot that has played may take to delete its account.
const leaveTimeout = 5 * time.Second

// enter logs the bot in as a guest and reports latency, once; it retries until ctx
// ends.
func (b *bot) enter(ctx context.Context) error {
	if b.me != nil {
		return nil
	}
	b.move(entering)
	me, err := player.New(player.Config{URL: b.opts.Server.Endpoint, HTTP: b.opts.Server.HTTP})
	if err != nil {
		return err
	}
	for attempt := 0; ; attempt++ {
		if err = b.introduce(ctx, me); err == nil {
			b.me, b.id, b.matching, b.tracker = me, me.PlayerID(), me, me
			return nil
		}
		if !worthRepeating(err) || !pause(ctx, attempt) {
			return err
		}
	}
}

// introduce creates the account, unless an earlier attempt did, and reports latency.
func (b *bot) introduce(ctx context.Context, me *player.Client) error {
	if me.PlayerID() == "" {
		if _, err := me.Login(ctx); err != nil {
			return fmt.Errorf("log in: %w", err)
		}
	}
	samples, err := b.latency.samples(ctx, me, &b.opts)
	if err != nil {
		return fmt.Errorf("measure latency: %w", err)
	}
	if _, err := me.ReportLatency(ctx, samples); err != nil {
		return fmt.Errorf("report latency: %w", err)
	}
	return nil
}

// leave deletes the account. If that fails, as it does ten minutes after the login,
// the account remains as that of a guest who never comes back.
func (b *bot) leave(ctx context.Context) {
	if b.me == nil {
		return
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	_ = b.me.DeleteAccount(late)
}

// latency is what a client on this machine measures. All bots share it, as the games
// of one machine would: a thousand concurrent measurements would disturb each other,
// and beacons answer one machine ten times a second.
type latency struct {
	mu     sync.Mutex
	found  []player.Sample
	before time.Time // when to measure again
}

// latencyLife is how long a server uses a report.
const latencyLife = 15 * time.Minute

// measure measures before the bots start, so that they need not wait for it.
func (c *crew) measure(ctx context.Context) error {
	if c.opts.Via != Players {
		return nil
	}
	anybody, err := player.New(player.Config{URL: c.opts.Server.Endpoint, HTTP: c.opts.Server.HTTP})
	if err != nil {
		return err
	}
	_, err = c.latency.samples(ctx, anybody, &c.opts)
	return err
}

// samples returns the measurements, and repeats them if they are too old.
func (l *latency) samples(ctx context.Context, c *player.Client, o *Options) ([]player.Sample, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Now().Before(l.before) {
		return l.found, nil
	}
	locations, err := c.Locations(ctx)
	if err != nil {
		return nil, err
	}
	var endpoints []beacon.Endpoint
	for _, l := range locations {
		endpoints = append(endpoints, beacon.Endpoint{Location: l.Name, UDP: l.UDP, TCP: l.TCP, HTTPS: l.HTTPS})
	}
	results, err := beacon.Measure(ctx, endpoints, beacon.MeasureOptions{Client: o.Server.HTTP, Receipt: true})
	if err != nil {
		return nil, err
	}
	l.found = nil
	for _, r := range results {
		if r.Err == nil { // a location that was not reached is omitted
			l.found = append(l.found, player.Sample{Location: r.Location, RTT: r.RTT, Method: string(r.Method), Receipt: r.Receipt})
		}
	}
	l.before = time.Now().Add(latencyLife)
	return l.found, nil
}
