package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"golang.org/x/term"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/terminal"
	"github.com/musterhq/muster/flexmatch/lint"
	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/internal/atomicfile"
	"github.com/musterhq/muster/internal/plain"
	"github.com/musterhq/muster/setup"
	"github.com/musterhq/muster/setup/live"
)

// setupServer returns the server that the flags name, for changing its set-up. The caller must
// call end, which ends the showing of progress.
func (f *clientFlags) setupServer(t *streams, patience time.Duration) (server *live.Server, end func(), err error) {
	c, err := f.ProvideClient()
	if err != nil {
		return nil, nil, err
	}
	if c.HTTP == nil {
		c.HTTP = &http.Client{Transport: http.DefaultTransport}
	}
	c.HTTP.Transport = regional{c.Region, c.HTTP.Transport}
	options := gamelift.Options{Region: c.Region, BaseEndpoint: &c.Endpoint, Credentials: aws.AnonymousCredentials{}, HTTPClient: c.HTTP}
	if k := c.Credentials; k.AccessKeyID != "" {
		options.Credentials = credentials.NewStaticCredentialsProvider(k.AccessKeyID, k.SecretAccessKey, k.SessionToken)
	}
	line := terminal.NewLine(t.ctx, t.screenErr)
	return &live.Server{
		API: gamelift.New(options, live.Patiently), Endpoint: c.Endpoint, Region: c.Region, HTTP: c.HTTP, Keys: c.Credentials, Patience: patience,
		Tell: line.Print, Working: line.Show, Reasons: func(ctx context.Context, fleetID string) map[string]string { return pending(ctx, c, fleetID) },
	}, line.End, nil
}

// pending returns why something of a fleet is pending, by location, or nil if the server does not
// say: it may be another one that speaks the API, or refuse that to the key.
func pending(ctx context.Context, c *client.Client, fleetID string) map[string]string {
	fleets, err := c.Fleets(ctx)
	if err != nil {
		return nil
	}
	why := map[string]string{}
	for _, f := range fleets {
		if f.ID != fleetID {
			continue
		}
		for _, l := range f.Locations {
			why[l.Location] = l.Reason
		}
	}
	return why
}

// regional sends requests to a region, also those that have no signature to name it.
type regional struct {
	region string
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t regional) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") == "" {
		r = r.Clone(r.Context())
		r.Header.Set(client.RegionHeader, t.region)
	}
	return t.next.RoundTrip(r)
}

// setupFlags say which server a file is for.
type setupFlags struct {
	clientFlags
	File string        `short:"f" default:"muster.yaml" placeholder:"FILE" type:"path" help:"The set-up: a file (docs/deploying.md), or a bundle that 'muster export --bundle' wrote (${default})."`
	Wait time.Duration `default:"20m" help:"How long to wait for one thing, such as a fleet to be ACTIVE, or the game sessions of a former fleet to end (${default})."`
}

// load reads the file. The caller must close what it returns.
func (f *setupFlags) load(t *streams) (*live.Source, error) {
	line := terminal.NewLine(t.ctx, t.screenErr)
	defer line.End()
	s, err := live.Open(f.File, line.Show)
	if errors.Is(err, os.ErrNotExist) && f.isDefault() {
		err = fmt.Errorf("%w; name it with -f FILE, or write one with 'muster export --out muster.yaml'", err)
	}
	return s, err
}

// isDefault reports whether the file is the one that is read if none is named. The flag's value is
// an absolute path.
func (f *setupFlags) isDefault() bool {
	here, err := filepath.Abs(defaultFile)
	return f.File == defaultFile || err == nil && f.File == here
}

// defaultFile is the set-up that is read if none is named.
const defaultFile = "muster.yaml"

// applyCommand is `muster apply`.
type applyCommand struct {
	setupFlags
	outputFlags
	Plan    bool `help:"Show what would be done, and do nothing."`
	Drift   bool `help:"Like --plan; the exit code is 3 if the server is not as the file describes it."`
	Yes     bool `short:"y" help:"Do it without asking."`
	Delete  bool `help:"Delete what the server has and the file does not."`
	Players bool `default:"true" negatable:"" help:"Take over the players of a bundle that has them (${default})."`
}

// driftCode is the exit code for a server that is not as its file describes it.
const driftCode = failed(3)

// Run shows what has to be done, and does it.
func (c *applyCommand) Run(t *streams) (err error) {
	source, err := c.load(t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	server, end, err := c.setupServer(t, c.Wait)
	if err != nil {
		return err
	}
	defer end()
	state, err := live.Read(t.ctx, server.API)
	if err != nil {
		return err
	}
	want := state.Resolved(source.Setup)
	plan := setup.Compare(want, state.Setup, c.Delete)
	if err := server.NoteEnding(t.ctx, state, plan); err != nil {
		return err
	}
	arriving := &arrivingPlayers{streams: t, flags: &c.clientFlags, line: server.Working}
	if c.Players && !c.Drift && source.Players != "" {
		if err := arriving.check(source.Players); err != nil {
			return err
		}
	}
	if c.json() {
		err = terminal.WriteJSON(t.out, plan)
	} else {
		terminal.WritePlan(t.out, plan)
	}
	arriving.tell(c.json())
	switch changes := plan.Changes(); {
	case err != nil || !changes && arriving.found.New == 0:
		return err
	case c.Drift:
		return driftCode
	}
	if err := validRuleSets(want, plan); err != nil {
		return err
	}
	doubtfulRuleSets(t.err, want, plan)
	switch {
	case c.Plan, !plan.Doable() && arriving.found.New == 0:
		return plan.Err()
	case !c.Yes:
		if err := confirmed(t, fmt.Sprintf("%sDo it at %s, region %s?", broughtBack(plan), server.Endpoint, server.Region)); err != nil {
			return err
		}
	}
	if err = server.Apply(t.ctx, want, state, plan); t.ctx.Err() != nil {
		return err
	}
	return errors.Join(err, arriving.takeOver())
}

// broughtBack says which fleets would get a build that was rolled back, "" if none would.
func broughtBack(plan setup.Plan) string {
	var all []string
	for _, a := range plan {
		if !a.RolledBack.IsZero() && a.Impossible == "" {
			all = append(all, a.Name)
		}
	}
	if all == nil {
		return ""
	}
	return fmt.Sprintf("A build that was rolled back comes back in fleet %s. ", strings.Join(all, " and "))
}

// validRuleSets checks the rule sets that a plan creates, as 'muster ruleset check' does.
func validRuleSets(want *setup.Setup, plan setup.Plan) error {
	var wrong []error
	for _, a := range plan {
		if a.Kind != setup.RuleSetKind || a.Op != setup.Create && a.Op != setup.Replace {
			continue
		}
		_, err := ruleset.Parse(*want.MatchmakingRuleSets[a.Name].RuleSetBody)
		errs, ok := errors.AsType[ruleset.Errors](err)
		if err != nil && !ok {
			wrong = append(wrong, fmt.Errorf("rule set %s: %w", a.Name, err))
		}
		for _, e := range errs {
			wrong = append(wrong, fmt.Errorf("%s: rule set %s: %s", want.BodyAt(a.Name, e.Line, e.Column), a.Name, ruleSetError(e)))
		}
	}
	if wrong == nil {
		return nil
	}
	return fmt.Errorf("nothing is done, since the server would refuse rule sets of the file. Correct them, or leave them out:\n%w", errors.Join(wrong...))
}

// doubtfulRuleSets says what 'muster ruleset check' finds in the rule sets that a plan creates, and
// what is wrong with those of a file beside the configurations and queues that a plan changes.
func doubtfulRuleSets(out io.Writer, want *setup.Setup, plan setup.Plan) {
	changed := func(kind setup.Kind, name string) bool {
		return slices.ContainsFunc(plan, func(a setup.Action) bool {
			return a.Kind == kind && a.Name == name && slices.Contains([]setup.Op{setup.Create, setup.Update, setup.Replace}, a.Op)
		})
	}
	parsed := map[string]*ruleset.RuleSet{}
	say := func(name, beside string, found []lint.Finding) {
		for _, f := range found {
			fmt.Fprintf(out, "%s: rule set %s%s: %s\n", want.BodyAt(name, f.At.Line, f.At.Column), name, beside, doubt(f))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want.MatchmakingRuleSets)) {
		body := want.MatchmakingRuleSets[name].RuleSetBody
		if body == nil {
			continue
		}
		rs, err := ruleset.Parse(*body)
		if err != nil {
			continue // validRuleSets says it, or the server has it
		}
		if parsed[name] = rs; changed(setup.RuleSetKind, name) {
			say(name, "", lint.Check(rs))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want.MatchmakingConfigurations)) {
		c := want.MatchmakingConfigurations[name]
		rs, at := parsed[c.RuleSet], lint.Setting{}
		queued := len(c.GameSessionQueues) > 0 && changed(setup.QueueKind, c.GameSessionQueues[0])
		if rs == nil || !queued && !changed(setup.MatchmakingKind, name) && !changed(setup.RuleSetKind, c.RuleSet) {
			continue
		}
		if c.RequestTimeoutSeconds != nil {
			at.RequestTimeout = time.Duration(*c.RequestTimeoutSeconds) * time.Second
		}
		if c.AdditionalPlayerCount != nil {
			at.AdditionalPlayers = int(*c.AdditionalPlayerCount)
		}
		if len(c.GameSessionQueues) > 0 && want.GameSessionQueues[c.GameSessionQueues[0]] != nil {
			at.Queue = c.GameSessionQueues[0]
			for _, p := range want.GameSessionQueues[at.Queue].PlayerLatencyPolicies {
				at.Cap = max(at.Cap, float64(aws.ToInt32(p.MaximumIndividualPlayerLatencyMilliseconds)))
			}
		}
		say(c.RuleSet, " in configuration "+name, lint.In(rs, at))
	}
}

// arrivingPlayers are the players of a bundle that a server is to take over.
type arrivingPlayers struct {
	*streams
	flags *clientFlags
	line  func(text func() string) // shows progress
	file  string                   // with their records; "" if there are none
	found client.AddedRecords
}

// check has the server compare the players with its own. The error names those that it cannot
// take over.
func (a *arrivingPlayers) check(file string) (err error) {
	a.file = file
	a.found, err = a.send(func(p client.Players, f *os.File) (client.AddedRecords, error) { return p.CheckImport(a.ctx, f) })
	return err
}

func (a *arrivingPlayers) send(how func(client.Players, *os.File) (client.AddedRecords, error)) (found client.AddedRecords, err error) {
	c, err := a.flags.ProvideClient()
	if err != nil {
		return found, err
	}
	f, err := os.Open(a.file)
	if err != nil {
		return found, err
	}
	defer f.Close()
	if found, err = how(c.Players(), f); err != nil {
		return found, fmt.Errorf("%w\n(--no-players leaves the players of the bundle out)", err)
	}
	return found, nil
}

// tell tells how many players there are to take over.
func (a *arrivingPlayers) tell(json bool) {
	to := a.out
	if json {
		to = a.err
	}
	if a.file != "" {
		fmt.Fprintf(to, "Players: %d to take over, %d here already.\n", a.found.New, a.found.Same)
	}
}

// takeOver adds the players who are not there yet.
func (a *arrivingPlayers) takeOver() error {
	if a.file == "" || a.found.New == 0 {
		return nil
	}
	all := a.found.New + a.found.Same
	found, err := a.send(func(p client.Players, f *os.File) (client.AddedRecords, error) {
		return p.Import(a.ctx, f, func(sent int) {
			a.line(func() string { return fmt.Sprintf("players: %d of %d sent", sent, all) })
		})
	})
	if err == nil {
		fmt.Fprintf(a.err, "%s taken over\n", plain.Count(found.New, "player"))
	}
	return err
}

// confirmed asks on the terminal, and returns an error unless the answer is yes.
func confirmed(t *streams, question string) error {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return errors.New("nothing is done: say --yes, since there is no terminal on which to ask")
	}
	fmt.Fprintf(t.err, "%s [y/N] ", question)
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if a := strings.ToLower(strings.TrimSpace(answer)); err != nil || a != "y" && a != "yes" {
		return errors.New("nothing is done")
	}
	return nil
}

// exportCommand is `muster export`.
type exportCommand struct {
	clientFlags
	Out     string `placeholder:"FILE" type:"path" help:"Write the file there instead of to the terminal."`
	Bundle  string `placeholder:"FILE.zip" type:"path" help:"Write a bundle instead: the file, and the archives of the builds."`
	Players bool   `help:"Put the players into the bundle: accounts, linked accounts, bans and data. Needs a key of the role admin."`
}

// Run writes the set-up of a server.
func (c *exportCommand) Run(t *streams) error {
	if c.Players && c.Bundle == "" {
		return errors.New("--players needs --bundle FILE.zip: a file of a set-up has no players")
	}
	server, end, err := c.setupServer(t, 0)
	if err != nil {
		return err
	}
	defer end()
	state, err := live.Read(t.ctx, server.API)
	if err != nil {
		return err
	}
	for _, note := range append(state.Notes, state.Setup.Settled()...) {
		fmt.Fprintln(t.err, "note:", note)
	}
	if c.Bundle != "" {
		return server.Bundle(t.ctx, state, c.Bundle, c.players(t))
	}
	return writeSetup(t, state.Setup, c.Out)
}

// players returns what writes the records of the players, nil if nobody asked for them.
func (c *exportCommand) players(t *streams) func(io.Writer) error {
	if !c.Players {
		return nil
	}
	return func(w io.Writer) error {
		from, err := c.ProvideClient()
		if err != nil {
			return err
		}
		n, err := from.Players().Export(t.ctx, w)
		if err == nil {
			fmt.Fprintf(t.err, "in the bundle: %s; keep it as safe as a backup\n", plain.Count(n, "player"))
		}
		return err
	}
}

// writeSetup writes a set-up to a file, or to the terminal if its name is "".
func writeSetup(t *streams, s *setup.Setup, file string) error {
	text, err := s.Text()
	if err != nil {
		return err
	}
	if file == "" {
		_, err = t.out.Write(text)
		return err
	}
	return atomicfile.Write(file, text, 0o600)
}
