package scenario

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/jackc/pgx/v5"

	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

var chaosFor = flag.Duration("for", 0, "how long TestRegions_Chaos disturbs; 0 kills the owner of each region once")

// chaosRegions are the regions of TestRegions_Chaos, the home region first.
var chaosRegions = []string{"us-east-1", "eu-central-1", "ap-northeast-1"}

// regions are three regions on three servers and one PostgreSQL. Each server has a link of its
// own to that, and one by which the other servers reach it.
type regions struct {
	*cluster
	rand     *rand.Rand
	database *pgtest.Server
	replica  *pgtest.Server // synchronous; nil: there is none
	links    []*link        // to PostgreSQL, by server
	doors    []*link        // to each server, for the others
	people   []*timeline    // by region
	count    map[string]int
	longest  map[string]time.Duration // from the end of a disturbance until every region has answered
}

// disturbances are what TestRegions_Chaos does with -for, as often as they are named.
var disturbances = []string{"kill", "kill", "stop", "hang", "cut", "part", "alone", "slow", "restart", "crash"}

// TestRegions_Chaos disturbs the servers of three regions under load in each region, and checks
// after each time that every region has everything that it acknowledged, once. By default the
// owner of each region is killed once. With -for, servers are killed, stopped and hang, are cut
// off from PostgreSQL, from each other or from both, or have a slow link to PostgreSQL, and that is
// restarted, crashes and, once, is replaced by its synchronous replica.
func TestRegions_Chaos(t *testing.T) {
	node.Path(t)
	pickSeed(t)
	r := openRegions(t)
	before := r.epochs()
	for begun, round := time.Now(), 0; round < len(chaosRegions) || time.Since(begun) < *chaosFor; round++ {
		what := "kill"
		if *chaosFor > 0 {
			what = disturbances[r.rand.IntN(len(disturbances))]
		}
		if r.replica != nil && time.Since(begun) > *chaosFor/2 {
			what = "promote"
		}
		r.round(round, what, r.ownerOf(chaosRegions[round%len(chaosRegions)]))
	}
	after := r.epochs()
	for i, region := range chaosRegions {
		moved := after[cellOf(region)] - before[cellOf(region)]
		games := 0
		for _, w := range r.people[i].workers {
			games += len(w.games)
		}
		t.Logf("%s: its owner moved %d times; %d game sessions", region, moved, games)
		if moved == 0 || games == 0 {
			t.Errorf("%s moved %d times and has %d game sessions: the test does not test it", region, moved, games)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(r.count)) {
		t.Logf("%s: %d times; all regions answered %s later at the latest", what, r.count[what], r.longest[what].Round(time.Millisecond))
	}
}

func openRegions(t *testing.T) *regions {
	r := &regions{database: pgtest.Own(t), rand: rand.New(rand.NewPCG(*seed, 1)), count: map[string]int{}, longest: map[string]time.Duration{}}
	if *chaosFor > 0 {
		r.replica = r.database.Replica(t)
		r.database.Synchronous(t)
	}
	r.cluster = newCluster(t, func(servers []string) string { return balance(t, servers) }, len(chaosRegions), "", "default", lease,
		"--regions", strings.Join(chaosRegions, ","))
	for i := range chaosRegions {
		r.links = append(r.links, newDatabaseLink(t, r.database.URL))
		r.doors = append(r.doors, newLink(t, r.args[i][1]))
		r.args[i] = append(r.args[i], "--store", r.links[i].url, "--node-address", r.doors[i].address, "--prefer-regions", chaosRegions[i])
	}
	r.start()
	for _, region := range chaosRegions {
		tl := &timeline{t: t, rand: rand.New(rand.NewPCG(*seed, 1)), few: true, moves: true}
		tl.people("http://"+r.front, func(o *gamelift.Options) { o.Region = region })
		r.people = append(r.people, tl)
	}
	return r
}

// round disturbs a server, or PostgreSQL, under load in all regions, and checks each region.
func (r *regions) round(n int, what string, victim int) {
	r.people[0].workUntil(func() {
		r.disturb(what, victim)
		over := time.Now()
		for _, region := range chaosRegions {
			r.answers(region, noServer)
		}
		r.longest[what] = max(r.longest[what], time.Since(over))
	}, r.people[1].run, r.people[2].run)
	r.count[what]++
	for _, region := range chaosRegions { // after this write, none that was answered with 503 is still made
		r.answers(region, noServer)
	}
	for i, region := range chaosRegions {
		if err := r.people[i].check(r.t.Context()); err != nil {
			r.t.Fatalf("round %d of seed %d, %s of server %d: %s: %v", n+1, *seed, what, victim, region, err)
		}
	}
	for i := range r.servers {
		r.supervise(i)
	}
}

// disturb does something to a server or to PostgreSQL, and undoes what lasts.
func (r *regions) disturb(what string, victim int) {
	must := func(err error) {
		if err != nil {
			r.t.Errorf("%s of server %d: %v", what, victim, err)
		}
	}
	during := time.Duration(1+r.rand.IntN(3)) * lease
	switch what {
	case "kill":
		r.servers[victim].Kill()
		for _, region := range chaosRegions { // the others take over
			r.answers(region, victim)
		}
		r.servers[victim] = r.launch(victim)
	case "stop":
		must(r.servers[victim].Stop())
		r.servers[victim] = r.launch(victim)
	case "hang":
		must(syscall.Kill(r.servers[victim].PID(), syscall.SIGSTOP))
		last(during)
		must(syscall.Kill(r.servers[victim].PID(), syscall.SIGCONT))
	case "cut":
		cut(during, r.links[victim])
	case "part": // each server reaches PostgreSQL, and none another one
		cut(during, r.doors...)
	case "alone":
		cut(during, r.links[victim], r.doors[victim])
	case "slow":
		r.links[victim].set(50*time.Millisecond, false)
		last(during)
		r.links[victim].set(0, false)
	case "restart", "crash":
		if what == "crash" {
			must(r.database.Crash())
		} else {
			must(r.database.Halt())
		}
		last(during / 2)
		must(r.database.Resume())
	case "promote":
		must(r.database.Crash())
		r.replica.Promote(r.t)
		for _, l := range r.links {
			l.leadToDatabase(r.t, r.replica.URL)
		}
		r.database, r.replica = r.replica, nil
	}
}

// cut holds back what is sent over links for a while, so that senders see neither an answer nor
// an error.
func cut(during time.Duration, links ...*link) {
	for _, l := range links {
		l.set(0, true)
	}
	last(during)
	for _, l := range links {
		l.set(0, false)
	}
}

// last lets a disturbance last: it takes real time in other processes.
func last(during time.Duration) { time.Sleep(during) }

// noServer is none of the servers.
const noServer = -1

// answers waits until a region answers through the load balancer. Servers that have ended are
// started again, except away.
func (r *regions) answers(region string, away int) {
	client := node.Client("http://"+r.front, func(o *gamelift.Options) { o.RetryMaxAttempts, o.Region = 1, region })
	var err error
	for until := time.Now().Add(time.Minute); time.Now().Before(until); pause(r.t.Context()) {
		ctx, cancel := context.WithTimeout(r.t.Context(), 5*time.Second)
		_, err = client.CreateLocation(ctx, &gamelift.CreateLocationInput{LocationName: new(fmt.Sprintf("custom-%d", time.Now().UnixNano()))})
		cancel()
		if err == nil {
			return
		}
		for i := range r.servers {
			if i != away {
				r.supervise(i)
			}
		}
	}
	r.t.Errorf("%s does not answer: %v", region, err)
}

// cellOf returns the name of the cell of a region.
func cellOf(region string) string {
	if region == chaosRegions[0] {
		return "default"
	}
	return "default_" + region
}

// owned is who has a cell, and how often it was taken.
type owned struct {
	cell, node string
	epoch      int
}

func (r *regions) leases() []owned {
	r.t.Helper()
	return wait.Value(r.t, "PostgreSQL tells the leases", func() ([]owned, error) {
		conn, err := pgx.Connect(r.t.Context(), r.database.URL)
		if err != nil {
			return nil, err
		}
		defer conn.Close(r.t.Context())
		rows, _ := conn.Query(r.t.Context(), `SELECT cell, node, epoch FROM muster.lease`)
		return pgx.CollectRows(rows, func(row pgx.CollectableRow) (o owned, err error) {
			return o, row.Scan(&o.cell, &o.node, &o.epoch)
		})
	})
}

// epochs returns how often each cell was taken.
func (r *regions) epochs() map[string]int {
	epochs := map[string]int{}
	for _, o := range r.leases() {
		epochs[o.cell] = o.epoch
	}
	return epochs
}

// ownerOf returns the server that owns a region, or did last.
func (r *regions) ownerOf(region string) int {
	for _, o := range r.leases() {
		if o.cell == cellOf(region) {
			return slices.IndexFunc(r.doors, func(door *link) bool { return strings.Contains(o.node, "/"+door.address+"/") })
		}
	}
	r.t.Fatalf("%s has no owner", region)
	return -1
}
