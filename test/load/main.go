package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"
)

// settings are the flags.
type settings struct {
	n, rounds int
	idleFor   time.Duration
	bin       string
}

func main() {
	var s settings
	flag.IntVar(&s.n, "n", 5000, "game sessions a series (create) or in the cell (describe), connections (idle), players (players, push), game servers (restart, agents), tickets (pool)")
	flag.IntVar(&s.rounds, "rounds", 5, "how often to start (start), to run each workload (match, pool)")
	flag.DurationVar(&s.idleFor, "for", 0, "how long to go on by its own clock (steady; 0 is 10 minutes); how long connections are idle before the second measurement (idle, players, push); Go collects garbage at least every 2 minutes")
	flag.StringVar(&s.bin, "bin", "bin/muster", "the built binary")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "load [flags] create|describe|idle|start|restart|takeover|size|week|agents|match|pool|steady|players|push")
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := run(s, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(s settings, command string) error {
	fmt.Printf("%s, %d processors for load and server together\n\n", runtime.Version(), runtime.NumCPU())
	switch command {
	case "create":
		return create(s)
	case "describe":
		return describe(s)
	case "idle":
		return idle(s)
	case "start":
		return start(s)
	case "restart":
		return restart(s)
	case "takeover":
		return takeover(s)
	case "size":
		return databaseSize(s)
	case "week":
		return week(s)
	case "agents":
		return throughAgents(s)
	case "match":
		return match(s)
	case "pool":
		return pools(s)
	case "steady":
		return steadily(s)
	case "players":
		return players(s)
	case "push":
		return push(s)
	}
	return fmt.Errorf("the commands are create, describe, idle, start, restart, takeover, size, week, agents, match, pool, steady, players and push, not %q", command)
}
