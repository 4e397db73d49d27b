package main

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"golang.org/x/term"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/terminal"
	"github.com/musterhq/muster/internal/atomicfile"
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
		Tell: line.Print, Working: line.Show,
	}, line.End, nil
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

// load reads the file. The caller must call done when it needs its builds no more.
func (f *setupFlags) load() (s *setup.Setup, done func() error, err error) {
	s, done, err = live.Open(f.File)
	if errors.Is(err, os.ErrNotExist) && f.File == "muster.yaml" {
		err = fmt.Errorf("%w; name it with -f FILE, or write one with 'muster export --out muster.yaml'", err)
	}
	return s, done, err
}

// applyCommand is `muster apply`.
type applyCommand struct {
	setupFlags
	outputFlags
	Plan   bool `help:"Show what would be done, and do nothing."`
	Drift  bool `help:"Like --plan; the exit code is 3 if the server is not as the file describes it."`
	Yes    bool `short:"y" help:"Do it without asking."`
	Delete bool `help:"Delete what the server has and the file does not."`
}

// driftCode is the exit code for a server that is not as its file describes it.
const driftCode = failed(3)

// Run shows what has to be done, and does it.
func (c *applyCommand) Run(t *streams) (err error) {
	want, done, err := c.load()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	server, end, err := c.setupServer(t, c.Wait)
	if err != nil {
		return err
	}
	defer end()
	state, err := live.Read(t.ctx, server.API)
	if err != nil {
		return err
	}
	plan, err := setup.Compare(want, state.Setup, c.Delete)
	if err != nil {
		return err
	}
	if c.json() {
		err = terminal.WriteJSON(t.out, plan)
	} else {
		terminal.WritePlan(t.out, plan)
	}
	switch {
	case err != nil || !plan.Changes():
		return err
	case c.Drift:
		return driftCode
	case c.Plan:
		return nil
	case !c.Yes:
		if err := confirmed(t, fmt.Sprintf("Do it at %s, region %s?", server.Endpoint, server.Region)); err != nil {
			return err
		}
	}
	return server.Apply(t.ctx, want, state, plan)
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
	Out    string `placeholder:"FILE" type:"path" help:"Write the file there instead of to the terminal."`
	Bundle string `placeholder:"FILE.zip" type:"path" help:"Write a bundle instead: the file, and the archives of the builds."`
}

// Run writes the set-up of a server.
func (c *exportCommand) Run(t *streams) error {
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
		return server.Bundle(t.ctx, state, c.Bundle)
	}
	return writeSetup(t, state.Setup, c.Out)
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
