package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/instance"
	"github.com/musterhq/muster/agent/wrap"
)

// bareFlags say how a program without an SDK is hosted.
type bareFlags struct {
	ReadyLine  string        `placeholder:"REGEXP" env:"-" help:"Without an SDK: the game session becomes ACTIVE when a line of the program's output matches, in place of when its port is bound."`
	ReadyAfter time.Duration `placeholder:"TIME" env:"-" help:"Without an SDK: the game session becomes ACTIVE at the latest when the program has run for so long."`
	Query      string        `placeholder:"PROTOCOL[:PORT]" env:"-" help:"Without an SDK: ask the program how many players it has, by a2s, quake3, gamespy or gamespy3, at a port or the name of one (the game's port)."`
	StopLine   string        `placeholder:"TEXT" env:"-" help:"Without an SDK: ask the program to end by this line on its standard input, before it gets SIGTERM."`
	StopRCON   string        `name:"stop-rcon" placeholder:"COMMAND" env:"-" help:"Without an SDK: ask the program to end by this command of Source RCON, before it gets SIGTERM. Its password is {{.RCONPassword}} in the program's arguments."`
	RCONPort   string        `name:"rcon-port" placeholder:"PORT" env:"-" help:"Port of --stop-rcon: a number or the name of a port (the game's port)."`
	StopWithin time.Duration `placeholder:"TIME" env:"-" help:"How long a program may take to end by --stop-line or --stop-rcon (10s)."`
}

// flags returns the flags that are given, as the command line has them.
func (f bareFlags) flags() (all []string) {
	add := func(name, value string) {
		if value != "" {
			all = append(all, "--"+name+"="+value)
		}
	}
	add("ready-line", f.ReadyLine)
	add("query", f.Query)
	add("stop-line", f.StopLine)
	add("stop-rcon", f.StopRCON)
	add("rcon-port", f.RCONPort)
	if f.ReadyAfter != 0 {
		add("ready-after", f.ReadyAfter.String())
	}
	if f.StopWithin != 0 {
		add("stop-within", f.StopWithin.String())
	}
	return all
}

// given returns the name of a flag that is given, or "".
func (f bareFlags) given() string {
	all := f.flags()
	if len(all) == 0 {
		return ""
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(all[0], "--"), "=")
	return name
}

// apply sets the options of a wrapper. Errors name the flag.
func (f bareFlags) apply(o *wrap.Options) (err error) {
	if f.ReadyAfter < 0 || f.StopWithin < 0 {
		return fmt.Errorf("--ready-after, --stop-within: a time is not negative")
	}
	o.Ready.After, o.Stop.Within = f.ReadyAfter, f.StopWithin
	o.Stop.Line, o.Stop.RCON, o.Stop.Port = f.StopLine, f.StopRCON, f.RCONPort
	if f.ReadyLine != "" {
		if o.Ready.Line, err = regexp.Compile(f.ReadyLine); err != nil {
			return fmt.Errorf("--ready-line: %w", err)
		}
	}
	if f.Query != "" {
		if o.Query, err = wrap.ParseQuery(f.Query); err != nil {
			return fmt.Errorf("--query: %w", err)
		}
	}
	return nil
}

// namedFlags are the ranges of ports that have a name.
type namedFlags struct {
	NamedPorts []string `name:"named-ports" placeholder:"NAME=FROM-TO" help:"Range of the ports that parameters call {{.Port.NAME}}, for a firewall with rules of its own for them; others come from the range of all ports. May be repeated."`
}

func (f namedFlags) ranges() (instance.NamedRanges, error) {
	all := instance.NamedRanges{}
	for _, text := range f.NamedPorts {
		name, span, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fmt.Errorf("--named-ports: %q is not NAME=FROM-TO", text)
		}
		from, to, err := numbers("--named-ports", span)
		if err != nil {
			return nil, err
		}
		if all[name] != nil {
			return nil, fmt.Errorf("--named-ports: %s has two ranges", name)
		}
		if err := all.Add(name, from, to); err != nil {
			return nil, fmt.Errorf("--named-ports: %w", err)
		}
	}
	return all, nil
}
