package placement

import (
	"context"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/internal/wake"
	"github.com/musterhq/muster/test/node"
)

var partitionsFor = flag.Duration("partitions", 0, "how long TestRemotes_NetworkHistory cuts the network; 0 skips it")

// world is three Musters with keys of their own, each in a network namespace: home, which places
// at the others, near, and far, which plays AWS. Each answers the others by its public API alone.
type world struct {
	*network
	at              map[*mortal]*site
	home, near, far *mortal
}

func newWorld(t *testing.T) *world {
	t.Helper()
	node.Path(t)
	w := &world{network: newNetwork(t), at: map[*mortal]*site{}}
	here, near, far := w.add("home"), w.add("near"), w.add("far")
	w.between(here, near, func(p *path) { p.delay, p.loss = 10*time.Millisecond, 0.005 })
	w.between(here, far, func(p *path) { p.delay, p.loss = 60*time.Millisecond, 0.005 })
	w.near = w.mortal(near, "eu-west-1", "222222222222")
	w.far = w.mortal(far, "ap-south-1", "333333333333")
	for price, m := range map[float64]*mortal{5: w.near, 2: w.far} {
		m.config.PricePerHour, m.config.Timeout = price, 3*time.Second
	}
	w.home = w.mortal(here, "us-east-1", "000000000000", "--remotes", remotesFile(t, w.near, w.far))
	return w
}

// mortal starts a Muster at a site.
func (w *world) mortal(s *site, region, account string, more ...string) *mortal {
	w.t.Helper()
	data := w.t.TempDir()
	m := &mortal{realm: &realm{region: region, account: account}}
	m.process = s.start(w.t, append([]string{"--listen", s.address.String() + ":9080", "--insecure-plain-http", "--no-accept-any-credentials",
		"--data", data, "--region", region, "--account", account, "--log-level", "warn"}, more...)...)
	m.url = m.process.URL
	id, secret := adminKey(w.t, data)
	m.client = node.ClientAs(m.url, id, secret, func(o *gamelift.Options) { o.Region, o.RetryMaxAttempts = region, 8 })
	m.furnish(w.t)
	m.grant(w.t, id, secret)
	m.admin = client.Client{Endpoint: m.url, Credentials: client.Credentials{AccessKeyID: id, SecretAccessKey: secret}, Region: region}
	w.at[m] = s
	return m
}

// mend ends what cuts two Musters off each other.
func (w *world) mend(a, b *mortal) { w.between(w.at[a], w.at[b], func(p *path) { p.cut = false }) }

// TestRemotes_Network places at three deployments on networks of their own, by cost and by latency,
// and loses all packets between two of them at each step of an attempt: from a request on, or
// from its answer on. Each placement has exactly one live game session in the end.
func TestRemotes_Network(t *testing.T) {
	w := newWorld(t)
	h := &homeOf{T: t, realm: w.home.realm}
	h.everywhere(w.near.realm, w.far.realm)

	s := &siege{homeOf: h, home: w.home, there: w.near, far: w.far}
	for _, m := range []*mortal{w.home, w.near, w.far} {
		s.placed = append(s.placed, m.live(t)...) // those that everywhere has placed
	}
	for _, there := range []*mortal{w.near, w.far} {
		s.queue(there.region, []string{there.other.FleetARN, w.home.other.FleetARN}, types.PriorityTypeDestination)
		for _, operation := range []string{"CreateGameSession", "DescribeGameSessions", "CreatePlayerSessions"} {
			if there == w.near { // once is enough
				w.cutOff(s, there, operation, false)
			}
			w.cutOff(s, there, operation, true)
		}
		found, err := there.client.DescribeGameSessions(t.Context(), &gamelift.DescribeGameSessionsInput{FleetId: &there.other.FleetID})
		if s.must(err); len(found.GameSessions) < 3 {
			t.Errorf("%d placements are at %s: the test does not test it", len(found.GameSessions), there.region)
		}
	}
}

// cutOff cuts a remote off at a request of an attempt there, for longer than a request may take.
func (w *world) cutOff(s *siege, there *mortal, operation string, carried bool) {
	w.t.Helper()
	there.other.Server(w.t)
	id := s.name(there, "cut off", operation, carried)
	b := w.network.at(w.at[w.home], w.at[there], operation, carried)
	s.must(s.start(there.region, id, nil))
	s.sprung(b.sprung)
	wake.Sleep(w.t.Context(), 3*time.Second+time.Duration(rand.IntN(500))*time.Millisecond) // requests time out after 3 s
	w.mend(w.home, there)
	s.fulfilled(id)
	s.check()
}

// TestRemotes_Late lets the requests to create a game session arrive when the placement has gone
// elsewhere since: the game session that they create then was given up before, no player gets it, and
// it is ended.
func TestRemotes_Late(t *testing.T) {
	w := newWorld(t)
	h := &homeOf{T: t, realm: w.home.realm}
	h.queue("q", []string{w.near.place.FleetARN, w.home.place.FleetARN}, types.PriorityTypeDestination)
	s := &saga{homeOf: h, home: w.home, there: w.near, begun: time.Now()}
	s.server(t.Context(), w.near.place)
	requests := w.hold(w.at[w.home], w.at[w.near], "CreateGameSession")
	s.begin(0, "p")
	wait.Until(t, "it is given up", func() bool { return len(s.givenUp()) > 0 })
	s.server(t.Context(), w.home.place)
	wait.Until(t, "it is placed", func() bool { return s.describe(0, "p").status == types.GameSessionPlacementStateFulfilled })
	w.release(requests)
	wait.Until(t, "a request arrives", func() bool {
		s.live(0, "p", "live")
		found, err := w.near.client.DescribeGameSessions(t.Context(), &gamelift.DescribeGameSessionsInput{FleetId: &w.near.place.FleetID})
		s.must(err)
		return len(found.GameSessions) > 0
	})
	result, saw := s.judge()
	t.Logf("%d attempts were given up, and %d placements were seen with two game sessions: %s", saw.givenUp, saw.two, result)
	if saw.givenUp != 1 || saw.remote != 0 {
		t.Errorf("%d attempts were given up, and %d placements are at the remote", saw.givenUp, saw.remote)
	}
}

// TestRemotes_NetworkHistory is TestRemotes_History with a network that loses all packets between
// the two again and again, in both directions or in one, or holds back the requests to create game
// sessions alone.
func TestRemotes_NetworkHistory(t *testing.T) {
	if *partitionsFor == 0 {
		t.Skip("it takes long: run it with -partitions 3m -v")
	}
	w := newWorld(t)
	h := &homeOf{T: t, realm: w.home.realm}
	h.queue("q", []string{w.near.place.FleetARN, w.near.other.FleetARN, w.home.place.FleetARN}, types.PriorityTypeDestination)
	s := &saga{homeOf: h, home: w.home, there: w.near, begun: time.Now()}
	s.run(func(ctx context.Context, n int) bool {
		lasts := time.Duration(rand.IntN(6000)) * time.Millisecond
		switch rand.IntN(4) {
		case 0:
			w.between(w.at[w.home], w.at[w.near], func(p *path) { p.cut = true })
		case 1:
			w.between(w.at[w.home], w.at[w.near], func(p *path) { p.cut = p == w.paths[[2]*site{w.at[w.home], w.at[w.near]}] })
		case 2:
			w.between(w.at[w.home], w.at[w.near], func(p *path) { p.cut = p == w.paths[[2]*site{w.at[w.near], w.at[w.home]}] })
		case 3:
			defer w.release(w.hold(w.at[w.home], w.at[w.near], "CreateGameSession"))
			lasts += 4 * time.Second // in which three requests time out
		}
		wake.Sleep(ctx, lasts)
		w.mend(w.home, w.near)
		return time.Since(s.begun) < *partitionsFor
	})
}
