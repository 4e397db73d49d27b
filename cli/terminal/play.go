package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/plain"
)

// PlayOptions describes the game that Play plays.
type PlayOptions struct {
	Fleet    string        // name or id
	Location string        // "" = the fleet's first custom location
	Players  int           // bots, 1 to 25
	For      time.Duration // how long they play
	Bots     string        // path of the arena program, which contains the bots
}

// play is the state of one game being played.
type play struct {
	*Terminal
	opts    PlayOptions
	began   time.Time
	fleet   client.Fleet
	session sessionRow
	players []playerRow
	over    chan error // receives how the bots ended
}

// playerRow holds the members of a player session that Play reads.
type playerRow struct {
	PlayerSessionID string `json:"PlayerSessionId"`
	Status          string
	IPAddress       string `json:"IpAddress"`
	Port            int
}

// Play runs a game session from creation to end, acting as the game's backend and
// players, and prints a line for each step.
func (t *Terminal) Play(ctx context.Context, o PlayOptions) error {
	p := &play{Terminal: t, opts: o, began: time.Now(), over: make(chan error, 1)}
	for _, step := range []func(context.Context) error{
		p.findFleet, p.findLocation, p.createSession, p.waitActive, p.createPlayers, p.startBots,
		p.waitValidated, p.waitPlayed, p.waitEnded, p.waitReplaced,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// step prints a progress line.
func (p *play) step(format string, args ...any) {
	fmt.Fprintf(p.Out, "%7.2f s  %s\n", time.Since(p.began).Seconds(), plain.Line(fmt.Sprintf(format, args...)))
}

// findFleet waits until the server has started and the fleet has a process.
func (p *play) findFleet(ctx context.Context) error {
	say := p.once("waiting for the server at " + p.Client.Endpoint + " to be ready")
	wait := p.once("waiting for fleet " + p.opts.Fleet + " to have a game server process")
	var starting error
	err := p.await(ctx, "the server and its fleet", func() (bool, error) {
		fleets, err := p.Client.Fleets(ctx)
		if starting = err; isStarting(err) {
			say()
			return false, nil
		}
		if err != nil {
			return false, err
		}
		for _, f := range fleets {
			if (f.Name == p.opts.Fleet || f.ID == p.opts.Fleet) && slices.Contains([]string{"ACTIVE", "UPDATING", "ACTIVATING"}, f.Status) {
				if p.fleet = f; f.Status != "ACTIVATING" && f.Processes > 0 {
					return true, nil
				}
				wait()
				return false, nil
			}
		}
		return false, fmt.Errorf("there is no ACTIVE fleet %q; muster local makes one that is named demo", p.opts.Fleet)
	})
	if err != nil {
		return errors.Join(err, starting)
	}
	p.step("fleet %s (%s) has %d game server processes", p.fleet.Name, p.fleet.ID, p.fleet.Processes)
	return nil
}

// isStarting reports whether an error means that the server is not serving yet.
func isStarting(err error) bool {
	var refused *client.Error
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF) ||
		errors.As(err, &refused) && refused.Status == http.StatusServiceUnavailable
}

// once returns a function that prints a progress line the first time it is called.
func (p *play) once(text string) func() {
	return sync.OnceFunc(func() { p.step("%s", text) })
}

func (p *play) findLocation(context.Context) error {
	for _, l := range p.fleet.Locations {
		if p.opts.Location == "" && strings.HasPrefix(l.Location, "custom-") {
			p.opts.Location = l.Location
		}
	}
	if p.opts.Location == "" {
		return fmt.Errorf("fleet %s has no custom location", p.fleet.ID)
	}
	return nil
}

func (p *play) createSession(ctx context.Context) error {
	var out struct{ GameSession sessionRow }
	wait := p.once("waiting for a free game server process: those there are play, or have not come back to the server yet")
	err := p.await(ctx, "a free game server process", func() (bool, error) {
		err := p.Client.Call(ctx, "CreateGameSession", map[string]any{
			"FleetId": p.fleet.ID, "Location": p.opts.Location, "Name": "demo play",
			"MaximumPlayerSessionCount": p.opts.Players,
		}, &out)
		var refused *client.Error
		if errors.As(err, &refused) && refused.Code == "FleetCapacityExceededException" {
			wait()
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return err
	}
	p.session = out.GameSession
	p.step("CreateGameSession: %s is %s on a process at %s", p.session.GameSessionID, p.session.Status, p.address())
	return nil
}

func (p *play) address() string {
	return net.JoinHostPort(p.session.IPAddress, strconv.Itoa(p.session.Port))
}

func (p *play) waitActive(ctx context.Context) error {
	err := p.await(ctx, "the game session to become ACTIVE", func() (bool, error) {
		status, err := p.status(ctx)
		if err == nil && status != "ACTIVE" && status != "ACTIVATING" {
			err = fmt.Errorf("the game session is %s", status)
		}
		return status == "ACTIVE", err
	})
	if err == nil {
		p.step("the game server took it: the game session is ACTIVE")
	}
	return err
}

func (p *play) status(ctx context.Context) (string, error) {
	var out struct{ GameSessions []sessionRow }
	err := p.Client.Call(ctx, "DescribeGameSessions", map[string]any{"GameSessionId": p.session.GameSessionID}, &out)
	if err != nil {
		return "", err
	}
	if len(out.GameSessions) != 1 {
		return "", fmt.Errorf("DescribeGameSessions gave %d game sessions", len(out.GameSessions))
	}
	return out.GameSessions[0].Status, nil
}

func (p *play) createPlayers(ctx context.Context) error {
	ids := make([]string, p.opts.Players)
	for i := range ids {
		ids[i] = "player-" + strconv.Itoa(i+1)
	}
	var out struct{ PlayerSessions []playerRow }
	err := p.Client.Call(ctx, "CreatePlayerSessions", map[string]any{"GameSessionId": p.session.GameSessionID, "PlayerIds": ids}, &out)
	if err != nil {
		return err
	}
	p.players = out.PlayerSessions
	p.step("CreatePlayerSessions: %d slots are RESERVED", len(p.players))
	return nil
}

// startBots starts the bots; each joins with its player session.
func (p *play) startBots(ctx context.Context) error {
	args := []string{"bot", "--json", "--for", p.opts.For.String(), "--addr", p.address()}
	for _, s := range p.players {
		args = append(args, "--player-session", s.PlayerSessionID)
	}
	bots := exec.CommandContext(ctx, p.opts.Bots, args...)
	var said, wrong bytes.Buffer
	bots.Stdout, bots.Stderr = &said, &wrong
	if err := bots.Start(); err != nil {
		return fmt.Errorf("start bots: %w", err)
	}
	p.step("%d bots join over UDP and show their player session ids", len(p.players))
	go func() {
		err := bots.Wait()
		if err != nil {
			err = fmt.Errorf("bots: %w: %s%s", err, said.String(), wrong.String())
		}
		p.over <- err
	}()
	return nil
}

func (p *play) waitValidated(ctx context.Context) error {
	err := p.await(ctx, "the players to be validated", func() (bool, error) {
		n, err := p.count(ctx, "ACTIVE", "COMPLETED") // COMPLETED: joined, and has already left
		return n == len(p.players), err
	})
	if err == nil {
		p.step("the game server validated them: %d player sessions became ACTIVE, playing for %s", len(p.players), p.opts.For)
	}
	return err
}

// count returns how many player sessions have one of the given statuses.
func (p *play) count(ctx context.Context, statuses ...string) (n int, err error) {
	in := map[string]any{"GameSessionId": p.session.GameSessionID, "Limit": 100}
	err = all(ctx, p.Client, "DescribePlayerSessions", in, func(out *struct {
		PlayerSessions []playerRow
		NextToken      string
	}) string {
		for _, s := range out.PlayerSessions {
			if slices.Contains(statuses, s.Status) {
				n++
			}
		}
		return out.NextToken
	})
	return n, err
}

func (p *play) waitPlayed(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-p.over:
		if err == nil {
			p.step("the last player left")
		}
		return err
	}
}

func (p *play) waitEnded(ctx context.Context) error {
	err := p.await(ctx, "the game session to end", func() (bool, error) {
		status, err := p.status(ctx)
		return status == "TERMINATED", err
	})
	if err != nil {
		return err
	}
	n, err := p.count(ctx, "COMPLETED")
	if err == nil {
		p.step("the game server ended the session: it is TERMINATED, %d player sessions are COMPLETED", n)
	}
	return err
}

// waitReplaced waits until the fleet has as many processes as before.
func (p *play) waitReplaced(ctx context.Context) error {
	err := p.await(ctx, "the process to be replaced", func() (bool, error) {
		fleets, err := p.Client.Fleets(ctx)
		return slices.ContainsFunc(fleets, func(f client.Fleet) bool { return f.ID == p.fleet.ID && f.Processes >= p.fleet.Processes }), err
	})
	if err == nil {
		p.step("a new process took the place of the one that played")
	}
	return err
}

// patience bounds the steps that do not wait for the game to be played.
const patience = 30 * time.Second

// await polls until holds returns true or an error, for at most patience.
func (p *play) await(ctx context.Context, what string, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("waited "+patience.String()))
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := holds()
		if ok || (err != nil && ctx.Err() == nil) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, context.Cause(ctx))
		case err := <-p.over:
			if err != nil {
				return err
			}
			p.over <- err
		case <-tick.C:
		}
	}
}
