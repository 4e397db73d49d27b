package scenario

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// builtEarlier returns the muster of an earlier commit, which `make upgrade-test` builds, or skips
// the test.
func builtEarlier(t *testing.T) string {
	t.Helper()
	path := os.Getenv("MUSTER_EARLIER_BIN")
	if path == "" {
		t.Skip("set MUSTER_EARLIER_BIN to a muster of an earlier commit, as `make upgrade-test FROM=COMMIT` does, to run this")
	}
	return path
}

// passage is a state that servers of two programs serve in turn, with names and, if there is one, a
// game session that must be there throughout.
type passage struct {
	*testing.T
	names []string
	game  *types.GameSession
}

// begin starts a game session.
func (p *passage) begin(url string) {
	p.Helper()
	place := node.NewPlace(p.T, node.Client(url))
	place.Server(p.T)
	game, err := place.Create(p.Context(), 2)
	if err != nil {
		p.Fatal(err)
	}
	p.game = game
}

// check reads everything by a server, and adds to it.
func (p *passage) check(url, when string) {
	p.Helper()
	client := node.Client(url, func(o *gamelift.Options) { o.RetryMaxAttempts = 8 })
	if p.game != nil {
		found, err := client.DescribeGameSessions(p.Context(), &gamelift.DescribeGameSessionsInput{GameSessionId: p.game.GameSessionId})
		if err != nil || found.GameSessions[0].Status == types.GameSessionStatusTerminated {
			p.Fatalf("%s: the game session is %+v: %v", when, found, err)
		}
	}
	listed, err := client.ListLocations(p.Context(), &gamelift.ListLocationsInput{Limit: aws.Int32(100)})
	if err != nil {
		p.Fatalf("%s: %v", when, err)
	}
	for _, name := range p.names {
		if !slices.ContainsFunc(listed.Locations, func(l types.LocationModel) bool { return aws.ToString(l.LocationName) == name }) {
			p.Errorf("%s: location %s is lost", when, name)
		}
	}
	name := "custom-" + string(rune('a'+len(p.names)))
	if _, err := client.CreateLocation(p.Context(), &gamelift.CreateLocationInput{LocationName: &name}); err != nil {
		p.Fatalf("%s: %v", when, err)
	}
	p.names = append(p.names, name)
}

// TestUpgradeFrom_PostgreSQL replaces two servers of an earlier commit one after the other, goes
// back, and forward again. Afterwards a server of that commit does not take the cell.
func TestUpgradeFrom_PostgreSQL(t *testing.T) {
	old, database, key := builtEarlier(t), pgtest.Database(t), filepath.Join(t.TempDir(), "master.key")
	listen, data := [2]string{node.Reserve(t), node.Reserve(t)}, [2]string{t.TempDir(), t.TempDir()}
	run := func(i int, path string) (*node.Process, error) {
		return node.Run(path, "local", "--demo=false", "--listen", listen[i], "--data", data[i], "--master-key-file", key,
			"--store", database, "--cell", "c", "--lease", "1s", "--log-level", "warn")
	}
	var servers [2]*node.Process
	replace := func(i int, path string) {
		t.Helper()
		if servers[i] != nil {
			if err := servers[i].Stop(); err != nil {
				t.Error(err)
			}
		}
		var err error
		if servers[i], err = run(i, path); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(servers[i].Kill)
	}
	replace(0, old)
	replace(1, old)
	p := &passage{T: t}
	p.begin(servers[0].URL)
	level := metricOf(t, servers[0].URL, "muster_feature_level_known")
	t.Logf("the earlier program knows level %s, this one %s", level, newest)
	for _, step := range []struct {
		what, path string
		server     int
	}{
		{"one is upgraded", node.Path(t), 0}, {"it is downgraded", old, 0},
		{"the other one is upgraded", node.Path(t), 1}, {"it is downgraded", old, 1}, {"it is upgraded again", node.Path(t), 1},
	} {
		replace(step.server, step.path)
		for _, s := range servers {
			p.check(s.URL, step.what)
		}
	}
	replace(0, node.Path(t))
	wait.Until(t, "the level is raised", func() bool {
		return metricOf(t, servers[0].URL, "muster_cell_feature_level") == newest && metricOf(t, servers[1].URL, "muster_cell_feature_level") == newest
	})
	p.check(servers[0].URL, "both are upgraded")
	if level == newest {
		return
	}
	for _, s := range servers {
		s.Kill()
	}
	back, err := run(0, old)
	switch {
	case err != nil: // it refuses to start
		t.Logf("the earlier program, alone with the state: %v", err)
		if !strings.Contains(err.Error(), "newer") {
			t.Errorf("it does not say why: %v", err)
		}
	default:
		t.Cleanup(back.Kill)
		becomes(t, back.URL, "it does not take the cell", func(s standing) bool {
			return s.Role == "" && strings.Contains(s.Reason, "no node owns the cell")
		})
		back.Kill()
	}
	last, err := run(0, node.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(last.Kill)
	p.check(last.URL, "after that")
}
