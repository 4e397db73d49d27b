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
			continue
		}
		if !allowed(r.RuleSetFile) {
			return nil, fmt.Errorf("%s: MatchmakingRuleSets.%s.RuleSetFile: %s is not in the bundle", path, name, r.RuleSetFile)
		}
		body, err := os.ReadFile(filepath.Join(dir, r.RuleSetFile))
		if err != nil {
			return nil, fmt.Errorf("%s: MatchmakingRuleSets.%s.RuleSetFile: %w", path, name, err)
		}
		text := string(body)
		r.RuleSetBody, r.RuleSetFile = &text, ""
	}
	return s, nil
}

// Parse reads a set-up from text; file is its name in errors. It checks that what the set-up
// refers to is there.
func Parse(file string, text []byte) (*Setup, error) {
	s := &Setup{}
	if err := yamlfile.Read(file, text, s); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

// Text returns the file of a set-up.
func (s *Setup) Text() ([]byte, error) { return yamlfile.Write(s) }

// check returns an error for each reference that leads nowhere, and for each resource that
// says too little or too much.
func (s *Setup) check() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	entries(s.Builds, "Builds", fail, func(at string, b *Build) {
		if b.Folder != "" && b.Archive != "" {
			fail("%s has both a Folder and an Archive; give one", at)
		}
	})
	entries(s.Locations, "Locations", fail, func(at string, _ *Location) {
		if !strings.HasPrefix(at, "Locations.custom-") {
			fail("%s: the name of a custom location begins with custom-; Regions need not be listed", at)
		}
	})
	entries(s.ContainerGroupDefinitions, "ContainerGroupDefinitions", fail, func(string, *ContainerGroup) {})
	entries(s.Fleets, "Fleets", fail, func(at string, f *Fleet) {
		if f.ComputeType == types.ComputeTypeAnywhere {
			if f.Build != "" || f.HomeRegion != nil {
				fail("%s: a fleet of ComputeType ANYWHERE has no Build and no HomeRegion", at)
			}
			return
		}
		refers(fail, at+".Build", f.Build, s.Builds)
	})
	entries(s.ContainerFleets, "ContainerFleets", fail, func(at string, f *ContainerFleet) {
		for _, name := range []string{f.GameServerContainerGroupDefinition, f.PerInstanceContainerGroupDefinition} {
			if name, _, _ = strings.Cut(name, ":"); name != "" {
				refers(fail, at, name, s.ContainerGroupDefinitions)
			}
		}
	})
	entries(s.Aliases, "Aliases", fail, func(at string, a *Alias) {
		switch {
		case count(a.Fleet != "", a.ContainerFleet != "", a.Message != nil) != 1:
			fail("%s must have one of Fleet, ContainerFleet and Message", at)
		case a.Fleet != "":
			refers(fail, at+".Fleet", a.Fleet, s.Fleets)
		case a.ContainerFleet != "":
			refers(fail, at+".ContainerFleet", a.ContainerFleet, s.ContainerFleets)
		}
	})
	entries(s.GameSessionQueues, "GameSessionQueues", fail, func(at string, q *Queue) {
		for i, d := range q.Destinations {
			at := fmt.Sprintf("%s.Destinations[%d]", at, i)
			switch {
			case count(d.Fleet != "", d.ContainerFleet != "", d.Alias != "", d.DestinationArn != "") != 1:
				fail("%s must have one of Fleet, ContainerFleet, Alias and DestinationArn", at)
			case d.Fleet != "":
				refers(fail, at+".Fleet", d.Fleet, s.Fleets)
			case d.ContainerFleet != "":
				refers(fail, at+".ContainerFleet", d.ContainerFleet, s.ContainerFleets)
			case d.Alias != "":
				refers(fail, at+".Alias", d.Alias, s.Aliases)
			}
		}
	})
	entries(s.MatchmakingRuleSets, "MatchmakingRuleSets", fail, func(at string, r *RuleSet) {
		if (r.RuleSetBody == nil) == (r.RuleSetFile == "") {
			fail("%s must have one of RuleSetBody and RuleSetFile", at)
		}
	})
	entries(s.MatchmakingConfigurations, "MatchmakingConfigurations", fail, func(at string, m *Matchmaking) {
		refers(fail, at+".RuleSet", m.RuleSet, s.MatchmakingRuleSets)
		for i, q := range m.GameSessionQueues {
			if !strings.HasPrefix(q, "arn:") {
				refers(fail, fmt.Sprintf("%s.GameSessionQueues[%d]", at, i), q, s.GameSessionQueues)
			}
		}
	})
	return errors.Join(errs...)
}

// entries calls each for the resources of one kind.
func entries[T any](all map[string]*T, kind string, fail func(string, ...any), each func(at string, v *T)) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if at := kind + "." + name; all[name] == nil {
			fail("%s has no members", at)
		} else {
			each(at, all[name])
		}
	}
}

// refers reports a reference to a resource that is not in the file.
func refers[T any](fail func(string, ...any), at, name string, all map[string]*T) {
	if all[name] == nil {
		fail("%s: %s", at, cmp.Or(yamlfile.Unknown(name, slices.Sorted(maps.Keys(all))), "is required"))
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
