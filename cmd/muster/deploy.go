package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/cli/terminal"
	"github.com/musterhq/muster/setup"
	"github.com/musterhq/muster/setup/live"
)

// deployCommand is `muster deploy`.
type deployCommand struct {
	setupFlags
	outputFlags
	Folder string `arg:"" optional:"" placeholder:"FOLDER" help:"What to upload, a folder or an archive, in place of that of the fleet's build in the file."`

	Fleet   string        `placeholder:"NAME" help:"The fleet; needed if the file has several with a build, or if there is no file: then it gets the new build and stays as it is otherwise."`
	Version string        `name:"build-version" placeholder:"TEXT" help:"Version of the build, in place of the one in the file."`
	Canary  share         `placeholder:"SHARE" help:"First give the new build a share of the fleet's instances, such as 10%, and put it first in the queues that lead to the fleet."`
	For     time.Duration `placeholder:"TIME" help:"With --canary: go on with the rest after this time, or take the canary back as soon as one of its processes fails."`

	Promote  bool `help:"Give all to a canary that was begun without --for."`
	Rollback bool `help:"Take a canary back; or else give the place back to the fleet that had it before."`
	Drain    bool `help:"Go on emptying the former fleet, if that was interrupted."`
}

// share is a flag with a share, such as 10% or 0.1.
type share float64

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *share) UnmarshalText(text []byte) error {
	number, percent := strings.CutSuffix(string(text), "%")
	v, err := strconv.ParseFloat(number, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v > 0 && v < 1) {
		return fmt.Errorf("%q is no share; it must be above 0%% and below 100%%, such as 10%%", text)
	}
	*s = share(v)
	return nil
}

// Run deploys, or undoes a deployment.
func (c *deployCommand) Run(t *streams) error {
	server, end, err := c.setupServer(t, c.Wait)
	if err != nil {
		return err
	}
	defer end()
	if err := c.deploy(t, server); err != nil || !c.json() {
		return err
	}
	d, err := server.Deployment(t.ctx, c.Fleet)
	if err != nil {
		return err
	}
	return terminal.WriteJSON(t.out, d)
}

// deploy does what the flags ask for. It sets the name of the fleet if they have none.
func (c *deployCommand) deploy(t *streams, server *live.Server) (err error) {
	switch n := count(c.Promote, c.Rollback, c.Drain, c.Canary != 0); {
	case n > 1:
		return errors.New("--canary, --promote, --rollback and --drain exclude each other")
	case c.For != 0 && c.Canary == 0:
		return errors.New("--for belongs to --canary")
	}
	if c.Promote || c.Rollback || c.Drain {
		file, err := c.findFleet(t)
		if err != nil {
			return err
		}
		switch {
		case c.Promote:
			return server.Promote(t.ctx, c.Fleet)
		case c.Rollback:
			return server.Rollback(t.ctx, c.Fleet, file)
		}
		return server.Drain(t.ctx, c.Fleet)
	}
	if c.withoutFile() {
		return c.deployFolder(t, server)
	}
	source, err := c.load(t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	want := source.Setup
	b, err := c.choose(want)
	if err != nil {
		return err
	}
	file := unchanged(want, c.Fleet)
	other := c.Version != "" && (b.Version == nil || *b.Version != c.Version)
	if err := c.override(want, b, server.Working); err != nil {
		return err
	}
	if err := server.Deploy(t.ctx, want, c.Fleet, live.Canary{Share: float64(c.Canary), For: c.For, File: file}); err != nil {
		return err
	}
	if other && (c.Canary == 0 || c.For != 0) { // a canary may be taken back
		fmt.Fprintf(t.err, "The file has another Version of the build: write %s there, or the next 'muster apply' goes back to that one.\n", c.Version)
	}
	return nil
}

// withoutFile reports whether the command line has all that a deployment needs, and there is no
// file.
func (c *deployCommand) withoutFile() bool {
	if c.Fleet == "" || c.Folder == "" || !c.isDefault() {
		return false
	}
	_, err := os.Stat(c.File)
	return errors.Is(err, os.ErrNotExist)
}

// deployFolder replaces the build of a fleet of the server, and changes nothing else of it.
func (c *deployCommand) deployFolder(t *streams, server *live.Server) error {
	want, err := server.AsFile(t.ctx, c.Fleet)
	if err != nil {
		return fmt.Errorf("%w (and there is no %s)", err, c.File)
	}
	if err := c.override(want, want.Builds[want.Fleets[c.Fleet].Build], server.Working); err != nil {
		return err
	}
	return server.Deploy(t.ctx, want, c.Fleet, live.Canary{Share: float64(c.Canary), For: c.For})
}

// findFleet takes the fleet from the file if the command line has none. It returns what the file
// says, nil if that is not known and not needed.
func (c *deployCommand) findFleet(t *streams) (*setup.Setup, error) {
	if c.Fleet != "" && !c.Rollback {
		return nil, nil
	}
	source, err := c.load(t)
	switch {
	case err != nil && c.Fleet != "": // a rollback does not wait for the file to be mended
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%w; or name the fleet with --fleet NAME", err)
	}
	if c.Fleet == "" {
		_, err = c.choose(source.Setup)
	}
	return source.Setup, errors.Join(err, source.Close())
}

// unchanged returns what a file says of a fleet and its build, whatever override makes of that.
func unchanged(want *setup.Setup, fleet string) *setup.Setup {
	name := want.Fleets[fleet].Build
	b := *want.Builds[name]
	return &setup.Setup{Fleets: want.Fleets, Builds: map[string]*setup.Build{name: &b}}
}

// choose finds the fleet, and returns its build.
func (c *deployCommand) choose(want *setup.Setup) (*setup.Build, error) {
	var hosted []string
	for _, name := range slices.Sorted(maps.Keys(want.Fleets)) {
		if want.Fleets[name].Build != "" {
			hosted = append(hosted, name)
		}
	}
	switch {
	case c.Fleet != "":
	case len(hosted) == 1:
		c.Fleet = hosted[0]
	default:
		return nil, fmt.Errorf("the file has %d fleets with a build (%s): choose one with --fleet NAME", len(hosted), strings.Join(hosted, ", "))
	}
	f := want.Fleets[c.Fleet]
	if f == nil || want.Builds[f.Build] == nil {
		return nil, fmt.Errorf("the file has no fleet %s with a build; it has %s", c.Fleet, strings.Join(hosted, ", "))
	}
	return want.Builds[f.Build], nil
}

// override sets of a build what the command line says.
func (c *deployCommand) override(want *setup.Setup, b *setup.Build, working live.Working) error {
	if c.Version != "" {
		b.Version = &c.Version
	}
	if c.Folder == "" {
		return nil
	}
	info, err := os.Stat(c.Folder)
	if err != nil {
		return fmt.Errorf("what to upload: %w", err)
	}
	if b.Folder, b.Archive, b.Content = c.Folder, "", ""; !info.IsDir() {
		b.Folder, b.Archive = "", c.Folder
	}
	return live.Digests(want, working)
}

func count(all ...bool) (n int) {
	for _, is := range all {
		if is {
			n++
		}
	}
	return n
}
