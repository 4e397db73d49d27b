package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/musterhq/muster/examples/arena/bot"
	"github.com/musterhq/muster/examples/arena/page"
	"github.com/musterhq/muster/examples/arena/wire"
	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/player"
)

// Limits of companions.
const (
	mostCompanions = 16
	companionWaits = 30 * time.Second // for a match
	aloneFor       = 3 * time.Second  // until a companion leaves a game
)

// runPage serves the arena's page until ctx ends.
func runPage(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var s page.Settings
	flags := flag.NewFlagSet("arena page", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := flags.String("listen", "127.0.0.1:0", "`HOST:PORT` of the page; port 0 picks a free one")
	flags.StringVar(&s.URL, "muster", "http://127.0.0.1:9080", "`URL` of Muster, as browsers reach it")
	flags.StringVar(&s.Matchmaker, "matchmaker", "demo", "`name` of the matchmaker")
	untilEOF := flags.Bool("until-eof", false, "end when standard input ends, as it does with the program that holds it")
	if code, ok := parse(flags, args); !ok {
		return code
	}
	if *untilEOF {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		go func() {
			_, _ = io.Copy(io.Discard, stdin)
			cancel()
		}()
	}
	if err := servePage(ctx, *listen, s, stdout, slog.New(slog.NewTextHandler(stderr, nil))); err != nil {
		fmt.Fprintf(stderr, "arena page: %v\n", err)
		return exitFailed
	}
	return exitDone
}

func servePage(ctx context.Context, listen string, s page.Settings, stdout io.Writer, log *slog.Logger) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	all := &companions{ctx: ctx, settings: s, log: log}
	server := &http.Server{Handler: page.Handler(s, all.add), ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	fmt.Fprintf(stdout, "ready http://%s/\n", l.Addr())
	err = server.Serve(l)
	all.end()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// companions are bots that find matches as players do, so that nobody waits alone.
type companions struct {
	ctx      context.Context // they leave when it ends
	settings page.Settings
	log      *slog.Logger

	mu      sync.Mutex // guards playing and over, and Add of ended against its Wait
	playing int
	over    bool
	ended   sync.WaitGroup
}

// add starts a companion, which looks for one match.
func (c *companions) add() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.playing == mostCompanions {
		return errors.New("too many bots play")
	}
	c.playing++
	c.ended.Go(func() {
		defer c.gone()
		result, err := c.play(c.ctx)
		c.log.Info("companion gone", "ending", result.Ending, "score", result.Score, "error", err)
	})
	return nil
}

func (c *companions) gone() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.playing--
}

// end waits until all have left, and lets no other start.
func (c *companions) end() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.ended.Wait()
}

// play logs in as a new guest, finds a match, and plays until it is alone.
func (c *companions) play(ctx context.Context) (bot.Result, error) {
	client, err := player.New(player.Config{URL: c.settings.URL})
	if err != nil {
		return bot.Result{}, err
	}
	me, err := client.Login(ctx)
	if err != nil {
		return bot.Result{}, err
	}
	within, cancel := context.WithTimeout(ctx, companionWaits)
	defer cancel()
	place, err := session.FindMatch(within, client, client, nil,
		session.MatchRequest{Configuration: c.settings.Matchmaker, Players: []session.Player{{ID: me.PlayerID}}}, session.MatchOptions{})
	if err != nil {
		return bot.Result{}, err
	}
	playing, leave := context.WithCancel(ctx)
	defer leave()
	alone := time.AfterFunc(companionWaits, leave) // for the others to come
	defer alone.Stop()
	return bot.Play(playing, bot.Options{
		Address: net.JoinHostPort(place.Host(), fmt.Sprint(place.Port)), PlayerSessionID: place.PlayerSessionID, Seed: rand.Uint64(),
		Watch: untilAlone(alone),
	})
}

// untilAlone returns a function that watches a game: once others have been there, the timer
// fires when they have gone for a while.
func untilAlone(alone *time.Timer) func(wire.Snapshot) {
	accompanied := false
	return func(view wire.Snapshot) {
		switch now := len(view.Players) > 1; {
		case now:
			alone.Stop()
		case accompanied:
			alone.Reset(aloneFor)
		}
		accompanied = len(view.Players) > 1
	}
}
