package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/examples/arena/bot"
)

// list is a flag that may be given several times.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

type botFlags struct {
	sessions list
	json     bool
	opts     bot.Options
}

func (f *botFlags) register(flags *flag.FlagSet) {
	flags.StringVar(&f.opts.Address, "addr", "", "`host:port` of the game session (required)")
	flags.Var(&f.sessions, "player-session", "player session `id`; give it several times for several bots (required)")
	flags.DurationVar(&f.opts.For, "for", 20*time.Second, "how long to play; 0 plays until the game is over")
	flags.DurationVar(&f.opts.JoinFor, "join-for", 15*time.Second, "how long to wait to be let in")
	flags.Uint64Var(&f.opts.Seed, "seed", 1, "seed of the first bot's whims; the next bots count up")
	flags.BoolVar(&f.json, "json", false, "print each bot's result as one line of JSON")
}

func runBots(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var f botFlags
	flags := flag.NewFlagSet("arena bot", flag.ContinueOnError)
	flags.SetOutput(stderr)
	f.register(flags)
	if code, ok := parse(flags, args); !ok {
		return code
	}
	if f.opts.Address == "" || len(f.sessions) == 0 {
		fmt.Fprintln(stderr, "arena bot: --addr and --player-session are required")
		return exitUsage
	}
	results, err := playAll(ctx, f)
	if err != nil {
		fmt.Fprintf(stderr, "arena bot: %v\n", err)
		return exitFailed
	}
	return report(results, f.json, stdout)
}

func playAll(ctx context.Context, f botFlags) ([]bot.Result, error) {
	results := make([]bot.Result, len(f.sessions))
	errs := make([]error, len(f.sessions))
	var bots sync.WaitGroup
	for i, session := range f.sessions {
		opts := f.opts
		opts.PlayerSessionID = session
		opts.Seed += uint64(i)
		bots.Go(func() { results[i], errs[i] = bot.Play(ctx, opts) })
	}
	bots.Wait()
	return results, errors.Join(errs...)
}

// report prints the results and returns the exit code: the worst of all bots.
func report(results []bot.Result, asJSON bool, stdout io.Writer) int {
	code := exitDone
	for _, r := range results {
		printResult(r, asJSON, stdout)
		switch {
		case r.Ending == bot.Refused:
			code = max(code, exitRefused)
		case !r.Played():
			code = max(code, exitUnplayed)
		}
	}
	return code
}

func printResult(r bot.Result, asJSON bool, stdout io.Writer) {
	if asJSON {
		line, _ := json.Marshal(r) // strings and numbers only: cannot fail
		fmt.Fprintf(stdout, "%s\n", line)
		return
	}
	if r.Player == 0 {
		fmt.Fprintln(stdout, strings.TrimSpace(fmt.Sprintf("%s: %s %s", r.PlayerSessionID, r.Ending, r.Reason)))
		return
	}
	played := time.Duration(r.PlayedMS) * time.Millisecond
	fmt.Fprintf(stdout, "%s: player %d scored %d, place %d of %d, after %v (%s)\n",
		r.PlayerSessionID, r.Player, r.Score, r.Place, r.Players, played, r.Ending)
}
