package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// clusterRounds is how often the owner is ended; each round takes a lease's time.
const clusterRounds = 4

// lease is short, so that rounds are.
const lease = 2 * time.Second

// cluster is several servers on one PostgreSQL behind a load balancer.
type cluster struct {
	t       *testing.T
	args    [][]string // of each server
	servers []*node.Process
	front   string // address of the load balancer
}

// TestCluster repeatedly ends the owner of three servers under load, alternating
// SIGKILL and SIGTERM, and checks that the remaining servers have everything that any
// of them acknowledged: game sessions, placements and tickets.
func TestCluster(t *testing.T) {
	node.Path(t)
	url := pgtest.URL(t)
	pickSeed(t)
	c := openCluster(t, 3, url, pgtest.Cell(t, url), lease)
	tl := &timeline{t: t, rand: rand.New(rand.NewPCG(*seed, 1)), moves: true}
	tl.people("http://" + c.front)
	placing := newPlacer(t, tl.place.Client)
	matching := newQueue(t, tl.place.Client)
	for round := range clusterRounds {
		kind, end := "killed", (*node.Process).Kill
		if round%2 == 1 {
			kind, end = "stopped", func(p *node.Process) {
				if err := p.Stop(); err != nil && !isOvertaken(p.Log()) {
					t.Errorf("the stop of the owner: %v", err)
				}
			}
		}
		i := c.owner()
		gap := c.watch()
		tl.workUntil(func() {
			end(c.servers[i])
			c.await(i)
		}, placing.run, matching.run, matching.run)
		if err := tl.check(t.Context()); err != nil {
			t.Fatalf("round %d of seed %d: %v", round+1, *seed, err)
		}
		if err := placing.check(t.Context()); err != nil {
			t.Fatalf("round %d of seed %d: %v", round+1, *seed, err)
		}
		t.Logf("round %d: the owner was %s; the longest time without an answer was %s", round+1, kind, gap().Round(time.Millisecond))
		c.servers[i] = c.launch(i)
	}
	entered := matching.complete(t)
	matching.await(t, "http://"+c.front)
	t.Logf("%d placements fulfilled, each once; %d tickets matched, each once; %d game servers", len(placing.met), entered, len(tl.host.all()))
	if len(placing.met) == 0 || entered == 0 {
		t.Errorf("%d placements were fulfilled and %d tickets entered: the load does not load", len(placing.met), entered)
	}
}

func openCluster(t *testing.T, n int, url, cell string, ttl time.Duration, more ...string) *cluster {
	return openClusterBehind(t, func(servers []string) string { return balance(t, servers) }, n, url, cell, ttl, more...)
}

// openClusterBehind opens a cluster behind a load balancer, which front starts; it returns
// its address.
func openClusterBehind(t *testing.T, front func(servers []string) string, n int, url, cell string, ttl time.Duration, more ...string) *cluster {
	c := newCluster(t, front, n, url, cell, ttl, more...)
	c.start()
	return c
}

// newCluster returns a cluster that is not started.
func newCluster(t *testing.T, front func(servers []string) string, n int, url, cell string, ttl time.Duration, more ...string) *cluster {
	c := &cluster{t: t}
	key := filepath.Join(t.TempDir(), "master.key")
	addresses := make([]string, n)
	for i := range n {
		addresses[i] = node.Reserve(t)
	}
	c.front = front(addresses)
	for _, address := range addresses {
		args := []string{"--listen", address, "--data", t.TempDir(), "--master-key-file", key, "--store", url, "--cell", cell,
			"--public-url", "http://" + c.front, "--lease", ttl.String(), "--log-level", "warn"}
		c.args = append(c.args, append(args, more...))
	}
	return c
}

// start starts all servers, one after the other.
func (c *cluster) start() {
	for i := range c.args {
		c.servers = append(c.servers, c.launch(i))
	}
}

// launch starts a server, and again if it has lost its lease before it was ready.
func (c *cluster) launch(i int) *node.Process {
	c.t.Helper()
	for until := time.Now().Add(late); ; {
		p, err := node.TryStart(c.t, c.args[i]...)
		switch {
		case err == nil:
			return p
		case !isOvertaken(err.Error()) || time.Now().After(until):
			c.t.Fatal(err)
		}
		c.t.Logf("server %d was overtaken before it was ready, and is started again", i)
	}
}

// role returns whether a server is the owner or a standby; "" is neither.
func (c *cluster) role(i int) string {
	client := &http.Client{Timeout: 10 * time.Second}
	response, err := client.Get("http://" + c.args[i][1] + "/readyz")
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	var ready struct{ Role string }
	raw, _ := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK || json.Unmarshal(raw, &ready) != nil {
		return ""
	}
	return ready.Role
}

// owner waits for one server to be the owner.
func (c *cluster) owner() int {
	c.t.Helper()
	return c.await(-1)
}

// await waits for a server other than other to be the owner, and returns it.
func (c *cluster) await(other int) int {
	c.t.Helper()
	return wait.Value(c.t, "a server is the owner", func() (int, error) {
		roles := make([]string, len(c.servers))
		for i := range c.servers {
			if i == other {
				continue
			}
			c.supervise(i)
			if roles[i] = c.role(i); roles[i] == "owner" {
				return i, nil
			}
		}
		return -1, fmt.Errorf("the servers are %q", roles)
	})
}

// supervise restarts a server that has ended, as one that lost its lease does: on a
// busy machine an owner may be unable to renew for the length of a lease.
func (c *cluster) supervise(i int) {
	select {
	case <-c.servers[i].Exited():
		c.t.Logf("server %d was overtaken and is started again", i)
		c.servers[i] = c.launch(i)
	default:
	}
}

// isOvertaken reports whether a server's last words say that it had lost its lease, which may
// happen on a busy machine.
func isOvertaken(log string) bool { return strings.Contains(log, "another node has taken the cell") }

// watch starts a client that sends one request after the other until the returned
// function is called, which returns the longest time between two answers.
func (c *cluster) watch() func() time.Duration {
	client := node.Client("http://"+c.front, func(o *gamelift.Options) { o.RetryMaxAttempts = 1 })
	ctx, cancel := context.WithCancel(c.t.Context())
	longest := make(chan time.Duration)
	go func() {
		var most time.Duration
		for last := time.Now(); ctx.Err() == nil; pause(ctx) {
			if _, err := client.ListLocations(ctx, &gamelift.ListLocationsInput{}); err == nil {
				most = max(most, time.Since(last))
				last = time.Now()
			}
		}
		longest <- most
	}()
	return func() time.Duration {
		cancel()
		return <-longest
	}
}

// one checks that what belongs to one owner only.
func one(kind string, seen map[string]string, what, of string) error {
	if other, twice := seen[what]; twice && other != of {
		return fmt.Errorf("%s %s belongs to %s and %s", kind, what, other, of)
	}
	seen[what] = of
	return nil
}
