package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/musterhq/muster/cli/terminal"
	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/trace"
	"github.com/musterhq/muster/internal/yamlfile"
	"github.com/musterhq/muster/sim"
)

// simulateCommand is `muster simulate`: matchmaking in virtual time, without a server.
type simulateCommand struct {
	Ruleset        string        `placeholder:"FILE" type:"existingfile" help:"The rule set body, as for create-matchmaking-rule-set."`
	Compare        pair          `placeholder:"A B" help:"Two rule sets, to compare on the same players."`
	Players        string        `placeholder:"SPEC" type:"existingfile" help:"What the players are like: YAML or JSON (docs/simulation.md)."`
	Trace          string        `placeholder:"FILE" type:"existingfile" help:"Tickets to play instead of drawn ones: JSON lines, or a table named .csv."`
	For            time.Duration `default:"1h" help:"How long to play (${default}); with --trace the default is until its tickets are over."`
	RequestTimeout time.Duration `env:"-" placeholder:"DURATION" help:"RequestTimeoutSeconds of the configuration, such as 60s (request_timeout_seconds of --players, or 120s)."`
	Seeds          int           `aliases:"runs" placeholder:"N" help:"How often to play, each time with players of another seed, from --seed on, or into how many stretches to divide a trace: the report has the mean of each figure and its 95 % interval (1; 5 with --compare)."`
	Seed           uint64        `default:"1" help:"Of all chance (${default}); with the same seed the report is the same."`
	Output         string        `short:"o" aliases:"format" group:"server" enum:"table,text,json,html" default:"table" help:"table, json or html (${default}); text is another word for table."`
	Out            string        `placeholder:"FILE" type:"path" help:"Write the report there instead of to the terminal."`
	Open           bool          `help:"Write the report as a page, to --out or a temporary file, and open it in the browser."`
}

// pair is a flag of two file names.
type pair struct{ A, B string }

// Decode reads the two words after the flag.
func (p *pair) Decode(ctx *kong.DecodeContext) error {
	for _, at := range []*string{&p.A, &p.B} {
		if err := ctx.Scan.PopValueInto("file", at); err != nil {
			return err
		}
		*at = kong.ExpandPath(*at)
	}
	return nil
}

// report is a report that can be written in each format.
type report interface {
	WriteText(io.Writer) error
	WriteHTML(io.Writer) error
}

// Run plays the simulation and writes its report.
func (c *simulateCommand) Run(t *streams, options sim.Options) error {
	begun, used := time.Now(), processor()
	shown := &simulated{Line: terminal.NewLine(t.ctx, t.screenErr), ctx: t.ctx, of: options.For}
	options.Reached = shown.reached
	if c.Compare.A != "" {
		var sides [2]sim.Side
		for i, file := range []string{c.Compare.A, c.Compare.B} {
			rs, err := readRuleSet(file)
			if err != nil {
				return err
			}
			sides[i] = sim.Side{Label: label(file), RuleSet: rs}
			c.doubt(t, file, options.Spec.Doubts(rs))
		}
		both, err := sim.Versus(options, sides[0], sides[1], cmp.Or(c.Seeds, usualSeeds), shown.run)
		shown.End()
		if err != nil {
			return err
		}
		c.note(t, begun, both.Played)
		return c.show(t, both)
	}
	var err error
	if options.RuleSet, err = readRuleSet(c.Ruleset); err != nil {
		return err
	}
	c.doubt(t, c.Ruleset, options.Spec.Doubts(options.RuleSet))
	options.Label = label(c.Ruleset)
	var r *sim.Report
	if c.Seeds > 1 {
		r, err = sim.Repeat(options, c.Seeds, shown.run)
	} else {
		r, err = sim.Run(options)
	}
	shown.End()
	if err != nil {
		return err
	}
	played, tickets := r.Played, r.Tickets.Arrived
	if r.Seeds != nil {
		played, tickets = r.Seeds.Played, 0
	}
	c.note(t, begun, played)
	if used := processor() - used; tickets > 0 && used > 0 {
		fmt.Fprintf(t.err, "%d tickets, %d µs of processor time each\n", tickets, used.Microseconds()/int64(tickets))
	}
	if shown.stopped > 0 {
		fmt.Fprintf(t.err, "the report is of the first %s of %s\n", shown.stopped, options.For)
		return cmp.Or(c.show(t, r), t.ctx.Err())
	}
	return c.show(t, r)
}

// doubt prints what is likely a mistake in the players for the rule set of a file.
func (c *simulateCommand) doubt(t *streams, file string, doubts []string) {
	for _, text := range doubts {
		fmt.Fprintf(t.err, "%s: doubtful for %s: %s\n", c.Players, file, text)
	}
}

// usualSeeds is how often a comparison plays.
const usualSeeds = 5

// simulated shows how far a simulation is.
type simulated struct {
	*terminal.Line
	ctx       context.Context
	of        time.Duration // that each run plays
	done, all int           // runs
	stopped   time.Duration // when it was interrupted, 0 if it was not
}

func (s *simulated) run(done, all int) { s.done, s.all = done, all }

func (s *simulated) reached(at time.Duration) error {
	if s.ctx.Err() != nil {
		if s.all > 1 {
			return errors.New("interrupted")
		}
		s.stopped = at
		return sim.ErrStop
	}
	s.Show(func() string {
		share := (float64(s.done) + at.Seconds()/s.of.Seconds()) / float64(max(s.all, 1))
		text := fmt.Sprintf("%3.0f %% simulated: %s of %s", 100*share, at.Round(time.Second), s.of)
		if s.all > 1 {
			text += fmt.Sprintf(", run %d of %d", s.done+1, s.all)
		}
		return text
	})
	return nil
}

// label returns the name of a rule set in a report: that of its file without the ending.
func label(file string) string { return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)) }

// note reports how fast the simulation was.
func (c *simulateCommand) note(t *streams, begun time.Time, played sim.PlayedTimes) {
	took, minutes := time.Since(begun), played.Waiting+played.Playing
	fmt.Fprintf(t.err, "%.0f player-minutes simulated in %s: %.0f a second\n", minutes, took.Round(time.Millisecond), minutes/took.Seconds())
}

// ProvideOptions reads players and trace. It is called by kong for Run.
func (c *simulateCommand) ProvideOptions(k *kong.Context) (sim.Options, error) {
	o := sim.Options{For: c.For, Seed: c.Seed}
	switch {
	case (c.Ruleset == "") == (c.Compare.A == ""):
		return o, errors.New("one of --ruleset FILE and --compare A B is required")
	case c.Seeds < 0 || c.Seeds > sim.MaxRuns:
		return o, fmt.Errorf("--seeds must be from 1 to %d", sim.MaxRuns)
	case c.Open && c.Output == "json":
		return o, errors.New("--open shows a page, which JSON is not: leave out --open, or -o json (MUSTER_OUTPUT)")
	case c.Players == "" && c.Trace == "":
		return o, errors.New("--players SPEC or --trace FILE is required")
	}
	var err error
	text := []byte("{}")
	if c.Players != "" {
		if text, err = os.ReadFile(c.Players); err != nil {
			return o, fmt.Errorf("read players: %w", err)
		}
	}
	if o.Spec, err = sim.ReadSpec(text); err != nil {
		if at := yamlfile.CheckJSON(c.Players, text, sim.Spec{}); at != nil {
			return o, at
		}
		return o, fmt.Errorf("%s: %w", c.Players, err)
	}
	if c.RequestTimeout != 0 {
		if c.RequestTimeout < time.Second || c.RequestTimeout > 12*time.Hour {
			return o, fmt.Errorf("--request-timeout must be from 1s to 12h, not %s", c.RequestTimeout)
		}
		o.Spec.Matchmaking.RequestTimeout = c.RequestTimeout.Seconds()
	}
	if c.Trace == "" {
		return o, nil
	}
	if o.Trace, err = readTrace(c.Trace); err == nil && !given(k, "for") {
		o.For = o.Trace.Ends() + time.Duration((o.Spec.Matchmaking.RequestTimeout+1)*float64(time.Second))
	}
	return o, err
}

// given reports whether a flag was typed or configured.
func given(k *kong.Context, name string) bool {
	for _, p := range k.Path {
		if p.Flag != nil && p.Flag.Name == name {
			return true
		}
	}
	return false
}

func readTrace(file string) (*trace.Trace, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	defer f.Close()
	if strings.EqualFold(filepath.Ext(file), ".csv") {
		return trace.ReadTable(f)
	}
	return trace.Read(f)
}

func readRuleSet(file string) (*ruleset.RuleSet, error) {
	body, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read rule set: %w", err)
	}
	rs, err := ruleset.Parse(string(body))
	if err != nil {
		return nil, fmt.Errorf("%s is no rule set: %w", file, err)
	}
	return rs, nil
}

// show writes a report, and opens it in the browser if that is asked for.
func (c *simulateCommand) show(t *streams, r report) (err error) {
	if !c.Open {
		return c.write(t.out, r)
	}
	if c.Out == "" {
		if c.Out, err = emptyFile(); err != nil {
			return err
		}
	}
	c.Output = "html"
	if err := c.write(t.out, r); err != nil {
		return err
	}
	fmt.Fprintln(t.out, "The report is in", c.Out)
	if err := terminal.OpenFile(c.Out); err != nil {
		fmt.Fprintf(t.err, "It was not opened: %v. Open the file in a browser.\n", err)
	}
	return nil
}

// emptyFile makes a temporary file for a page, and returns its path.
func emptyFile() (string, error) {
	f, err := os.CreateTemp("", "muster-simulate-*.html")
	if err != nil {
		return "", fmt.Errorf("write report: %w", err)
	}
	return f.Name(), f.Close()
}

// write writes a report in the requested format.
func (c *simulateCommand) write(out io.Writer, r report) (err error) {
	if c.Out != "" {
		f, failed := os.Create(c.Out)
		if failed != nil {
			return fmt.Errorf("write report: %w", failed)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		out = f
	}
	switch c.Output {
	case "json":
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(r)
	case "html":
		return r.WriteHTML(out)
	}
	return r.WriteText(out)
}
