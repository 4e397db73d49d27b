package setup

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/internal/yamlfile"
)

// MaxFile bounds the size of a file, in bytes.
const MaxFile = 16 << 20

// Load reads a set-up from a file, and the bodies of its rule sets from theirs. Folders and
// archives of builds become paths that are valid from the current directory.
func Load(path string) (*Setup, error) { return load(path, func(string) bool { return true }) }

// LoadBundled is Load for a file of somebody else that was unpacked from a bundle: all files
// that it names have to be below its folder.
func LoadBundled(path string) (*Setup, error) { return load(path, filepath.IsLocal) }

func load(path string, allowed func(path string) bool) (*Setup, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > MaxFile {
		err = fmt.Errorf("%s has %d bytes; a set-up has at most %d", path, info.Size(), MaxFile)
	}
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s, err := Parse(path, text)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	for name, b := range s.Builds {
		for _, at := range []*string{&b.Folder, &b.Archive} {
			if *at != "" && !allowed(*at) {
				return nil, fmt.Errorf("%s: Builds.%s: %s is not in the bundle", path, name, *at)
			}
			if *at != "" && !filepath.IsAbs(*at) {
				*at = filepath.Join(dir, *at)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.MatchmakingRuleSets)) {
		r := s.MatchmakingRuleSets[name]
		if r.RuleSetFile == "" {
			if at, ok := yamlfile.Find(text, "MatchmakingRuleSets", name, "RuleSetBody"); ok {
				s.placeBody(name, body{path, at})
			}
			continue
		}
		if !allowed(r.RuleSetFile) {
			return nil, fmt.Errorf("%s: MatchmakingRuleSets.%s.RuleSetFile: %s is not in the bundle", path, name, r.RuleSetFile)
		}
		file := filepath.Join(dir, r.RuleSetFile)
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: MatchmakingRuleSets.%s.RuleSetFile: %w", path, name, err)
		}
		s.placeBody(name, body{file, yamlfile.Span{Line: 1, Block: true}})
		text := string(content)
		r.RuleSetBody, r.RuleSetFile = &text, ""
	}
	return s, nil
}

// placeBody notes where the body of a rule set is.
func (s *Setup) placeBody(ruleSet string, at body) {
	if s.bodies == nil {
		s.bodies = map[string]body{}
	}
	s.bodies[ruleSet] = at
}

// Parse reads a set-up from text; file is its name in errors. It checks that what the set-up
// refers to is there.
func Parse(file string, text []byte) (*Setup, error) {
	s := &Setup{}
	lines, err := yamlfile.ReadLines(file, text, s)
	if err == nil {
		err = s.check(file, lines)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Text returns the file of a set-up.
func (s *Setup) Text() ([]byte, error) { return yamlfile.Write(s) }

// check returns an error for each reference that leads nowhere, and for each resource that
// says too little or too much.
func (s *Setup) check(file string, lines yamlfile.Lines) error {
	c := &checking{Setup: s, file: file, lines: lines}
	entries(c, "Builds", s.Builds, c.build)
	entries(c, "Locations", s.Locations, c.location)
	entries(c, "ContainerGroupDefinitions", s.ContainerGroupDefinitions, func(string, *ContainerGroup) {})
	entries(c, "Fleets", s.Fleets, c.fleet)
	entries(c, "ContainerFleets", s.ContainerFleets, c.containerFleet)
	entries(c, "Aliases", s.Aliases, c.alias)
	entries(c, "GameSessionQueues", s.GameSessionQueues, c.queue)
	entries(c, "MatchmakingRuleSets", s.MatchmakingRuleSets, c.ruleSet)
	entries(c, "MatchmakingConfigurations", s.MatchmakingConfigurations, c.matchmaking)
	return errors.Join(c.errs...)
}

// checking is a check of a set-up.
type checking struct {
	*Setup
	file  string
	lines yamlfile.Lines
	errs  []error
}

// fail reports what is wrong with what is at a path.
func (c *checking) fail(at, format string, args ...any) {
	c.errs = append(c.errs, &yamlfile.Error{File: c.file, Line: c.lines.Of(at), Text: at + fmt.Sprintf(format, args...)})
}

// entries calls each for the resources of one kind.
func entries[T any](c *checking, kind string, all map[string]*T, each func(at string, v *T)) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if at := kind + "." + name; all[name] == nil {
			c.fail(at, " has no members")
		} else {
			each(at, all[name])
		}
	}
}

// refers reports a reference to a resource that is not in the file.
func refers[T any](c *checking, at, name string, all map[string]*T) {
	if all[name] == nil {
		c.fail(at, ": %s", cmp.Or(yamlfile.Unknown(name, slices.Sorted(maps.Keys(all))), "is required"))
	}
}

func (c *checking) build(at string, b *Build) {
	if b.Folder != "" && b.Archive != "" {
		c.fail(at, " has both a Folder and an Archive; give one")
	}
}

func (c *checking) location(at string, _ *Location) {
	if !strings.HasPrefix(at, "Locations.custom-") {
		c.fail(at, ": the name of a custom location begins with custom-; Regions need not be listed")
	}
}

func (c *checking) fleet(at string, f *Fleet) {
	c.placement(at, f.Placement())
	switch {
	case f.ComputeType != types.ComputeTypeAnywhere:
		refers(c, at+".Build", f.Build, c.Builds)
	case f.Build != "" || f.HomeRegion != nil:
		c.fail(at, ": a fleet of ComputeType ANYWHERE has no Build and no HomeRegion")
	}
}

func (c *checking) containerFleet(at string, f *ContainerFleet) {
	c.placement(at, f.Placement())
	for _, name := range []string{f.GameServerContainerGroupDefinition, f.PerInstanceContainerGroupDefinition} {
		if name, _, _ = strings.Cut(name, ":"); name != "" {
			refers(c, at, name, c.ContainerGroupDefinitions)
		}
	}
}

// placement reports capacities that contradict themselves.
func (c *checking) placement(at string, p Placement) {
	places := p.places()
	for _, location := range slices.Sorted(maps.Keys(places)) {
		place := at + ".HomeRegion"
		if location != "" {
			place = at + ".Locations." + location
		}
		if wrong := places[location].contradiction(); wrong != "" {
			c.fail(place, ": %s", wrong)
		}
	}
}

func (c *checking) alias(at string, a *Alias) {
	if count(a.Fleet != "", a.ContainerFleet != "", a.Message != nil) != 1 {
		c.fail(at, " must have one of Fleet, ContainerFleet and Message")
		return
	}
	c.leads(at, a.Fleet, a.ContainerFleet, "")
}

func (c *checking) queue(at string, q *Queue) {
	for i, d := range q.Destinations {
		at := fmt.Sprintf("%s.Destinations[%d]", at, i)
		if count(d.Fleet != "", d.ContainerFleet != "", d.Alias != "", d.DestinationArn != "") != 1 {
			c.fail(at, " must have one of Fleet, ContainerFleet, Alias and DestinationArn")
			continue
		}
		c.leads(at, d.Fleet, d.ContainerFleet, d.Alias)
	}
}

// leads checks the one of three references that is given, if any.
func (c *checking) leads(at, fleet, containerFleet, alias string) {
	switch {
	case fleet != "":
		refers(c, at+".Fleet", fleet, c.Fleets)
	case containerFleet != "":
		refers(c, at+".ContainerFleet", containerFleet, c.ContainerFleets)
	case alias != "":
		refers(c, at+".Alias", alias, c.Aliases)
	}
}

func (c *checking) ruleSet(at string, r *RuleSet) {
	if (r.RuleSetBody == nil) == (r.RuleSetFile == "") {
		c.fail(at, " must have one of RuleSetBody and RuleSetFile")
	}
}

func (c *checking) matchmaking(at string, m *Matchmaking) {
	refers(c, at+".RuleSet", m.RuleSet, c.MatchmakingRuleSets)
	for i, q := range m.GameSessionQueues {
		if !strings.HasPrefix(q, "arn:") && c.GameSessionQueues[q] == nil {
			c.fail(fmt.Sprintf("%s.GameSessionQueues[%d]", at, i), ": %s; a queue that only the server has is named by its ARN", cmp.Or(yamlfile.Unknown(q, slices.Sorted(maps.Keys(c.GameSessionQueues))), "is empty"))
		}
	}
}

func count(all ...bool) (n int) {
	for _, is := range all {
		if is {
			n++
		}
	}
	return n
}
