package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/musterhq/muster/cli/contexts"
	"github.com/musterhq/muster/internal/nearest"
)

// variables sets the MUSTER_… variables of flags, each of which has one meaning: those of
// servers, agents and other programs that run on; those of the state that servers work on,
// wherever it is; and those that say which server to ask, and how to show the answer. Flags of
// single commands, such as simulate's --for, have none.
func variables(k *kong.Kong) error {
	state := map[string]bool{}
	for _, n := range k.Model.Children {
		switch n.Name {
		case "local", "serve", "agent", "beacon", "wrap":
			everyFlag(n, func(f *kong.Flag) {
				setVariable(f)
				state[f.Name] = state[f.Name] || n.Name == "local"
			})
		}
	}
	everyFlag(k.Model.Node, func(f *kong.Flag) {
		if f.Group != nil && f.Group.Key == "server" || state[f.Name] {
			setVariable(f)
		}
		if len(f.Envs) == 1 && f.Envs[0] == "-" {
			f.Envs, f.Tag.Envs = nil, nil
		}
	})
	return nil
}

// everyFlag calls do with each flag of a command and of those below it.
func everyFlag(n *kong.Node, do func(*kong.Flag)) {
	for _, f := range n.Flags {
		if f.Name != "help" {
			do(f)
		}
	}
	for _, child := range n.Children {
		everyFlag(child, do)
	}
}

// setVariable sets the variable of a flag, unless it has one or none by its tag.
func setVariable(f *kong.Flag) {
	if len(f.Envs) == 0 {
		f.Envs = []string{variableOf(f)}
		f.Tag.Envs = f.Envs
	}
}

// variableOf returns the name of the variable that a flag has, if it has one.
func variableOf(f *kong.Flag) string {
	return "MUSTER_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
}

// elsewhere are variables that other programs of this project read: game servers, the script
// that installs, muster-kubernetes and the tests.
var elsewhere = []string{
	"MUSTER_GAME_URL", "MUSTER_GAME_TOKEN", "MUSTER_INSTALL_DIR", "MUSTER_VERSION", "MUSTER_RELEASE", "MUSTER_KUBE_GROUPS", "MUSTER_RUN_ID",
	"MUSTER_EXE", "MUSTER_DEB", "MUSTER_DIST", "MUSTER_MACHINE", "MUSTER_DRIVER", "MUSTER_SAMPLES", "MUSTER_SCREENSHOTS", "MUSTER_WATCHED", "MUSTER_ISOLATE",
	"MUSTER_UDP", "MUSTER_TCP", "MUSTER_HTTP", "MUSTER_HTTP_PORT",
}

// isElsewhere reports whether another program of this project reads a variable.
func isElsewhere(name string) bool {
	return slices.Contains(elsewhere, name) || strings.HasPrefix(name, "MUSTER_TEST_") || strings.HasSuffix(name, "_BIN")
}

// servicesAlone are the commands whose environment is made for them alone.
var servicesAlone = []string{"serve", "local", "agent", "beacon"}

// notRead returns a sentence for each variable that is set as if it set something of the command
// that was typed, which does not read it: it has the name of a flag that has none, or one like
// that of a variable, or another server or agent reads it. Commands that talk to a server leave
// the variables of servers and agents alone, which a machine may have for those.
func notRead(k *kong.Context) (all []string) {
	meant := map[string]bool{contexts.Variable: true} // read by some command
	everyFlag(k.Model.Node, func(f *kong.Flag) {
		for _, v := range f.Envs {
			meant[v] = true
		}
	})
	typed := selectedOf(k)
	services := map[string][]string{}
	if slices.Contains(servicesAlone, typed.command) {
		services = servicesOf(k.Model)
	}
	for _, pair := range slices.Sorted(slices.Values(os.Environ())) {
		v, value, _ := strings.Cut(pair, "=")
		name, ours := strings.CutPrefix(v, "MUSTER_")
		if !ours || value == "" || slices.Contains(typed.names, name) {
			continue
		}
		switch flag, like := typed.flags[v], nearest.Of(name, typed.names); {
		case meant[v] && len(services[v]) > 0:
			all = append(all, fmt.Sprintf("the variable %s is not read here: it is for muster %s", v, strings.Join(services[v], " and muster ")))
		case meant[v]:
		case flag != "":
			all = append(all, fmt.Sprintf("the variable %s, for --%s, is not read: give the flag", v, flag))
		case like != "" && !isElsewhere(v):
			all = append(all, fmt.Sprintf("the variable %s is not read: did you mean MUSTER_%s?", v, like))
		}
	}
	return all
}

// selected is the command that was typed.
type selected struct {
	command string            // the first word of its path
	names   []string          // of the variables that it reads, without MUSTER_
	flags   map[string]string // its flags, by the variables that they would have
}

func selectedOf(k *kong.Context) selected {
	t := selected{flags: map[string]string{}}
	for n := k.Selected(); n != nil && n.Parent != nil; n = n.Parent {
		t.command = n.Name
		for _, f := range n.Flags {
			t.flags[variableOf(f)] = f.Name
			for _, v := range f.Envs {
				if name, ok := strings.CutPrefix(v, "MUSTER_"); ok {
					t.names = append(t.names, name)
				}
			}
		}
	}
	return t
}

// servicesOf returns the commands of servicesAlone that read each variable, without those
// variables that commands read to find the server they ask, as MUSTER_ENDPOINT, whichever
// other command has them too.
func servicesOf(model *kong.Application) map[string][]string {
	readers := map[string][]string{}
	asks := map[string]bool{}
	everyFlag(model.Node, func(f *kong.Flag) {
		if f.Group != nil && f.Group.Key == "server" {
			for _, v := range f.Envs {
				asks[v] = true
			}
		}
	})
	for _, n := range model.Children {
		if !slices.Contains(servicesAlone, n.Name) {
			continue
		}
		everyFlag(n, func(f *kong.Flag) {
			for _, v := range f.Envs {
				if !asks[v] && !slices.Contains(readers[v], n.Name) {
					readers[v] = append(readers[v], n.Name)
				}
			}
		})
	}
	return readers
}
