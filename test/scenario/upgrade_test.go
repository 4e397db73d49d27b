package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/jackc/pgx/v5"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/feature"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/store/sqltext"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// newest is the highest feature level of this release, and above is the next one, which only the
// later release of these tests knows.
var (
	newest = strconv.Itoa(int(feature.Known()))
	above  = strconv.Itoa(int(feature.Known()) + 1)
)

// built are programs of other releases, each built once for all tests.
var built struct {
	sync.Mutex
	dir   string
	paths map[string]string // by release
}

// TestMain removes the programs that tests have built.
func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(built.dir)
	os.Exit(code)
}

// programOf returns a muster that takes itself for another release, which knows as many feature
// levels as releases has, separated by commas.
func programOf(t *testing.T, release, releases string) string {
	t.Helper()
	node.Path(t) // skips the test where the others are skipped
	built.Lock()
	defer built.Unlock()
	if built.dir == "" {
		var err error
		if built.dir, err = os.MkdirTemp("", "muster-releases-"); err != nil {
			t.Fatal(err)
		}
		built.paths = map[string]string{}
	}
	if path := built.paths[release]; path != "" {
		return path
	}
	path, of := filepath.Join(built.dir, "muster-"+release), "github.com/musterhq/muster/internal/"
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w -X "+of+"feature.releases="+releases+" -X "+of+"release.number="+release, "-o", path, "./cmd/muster")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", release, err, out)
	}
	built.paths[release] = path
	return path
}

// The releases of these programs are too far apart to be supported together. The later one knows a
// level more than this release.
const (
	earlierRelease = "v0.0.9"
	laterRelease   = "v0.5.0"
)

func earlier(t *testing.T) string { return programOf(t, earlierRelease, knownReleases()) }
func later(t *testing.T) string   { return programOf(t, laterRelease, knownReleases()+","+laterRelease) }

// knownReleases lists the releases of the levels that this program knows.
func knownReleases() string {
	var all []string
	for l := feature.First; l <= feature.Known(); l++ {
		all = append(all, l.Release())
	}
	return strings.Join(all, ",")
}

// standing is what /readyz and /metrics tell about a server.
type standing struct {
	Role, Reason, Aside string
	level, aside        string // of the metrics
}

func standingOf(t *testing.T, url string) (s standing) {
	t.Helper()
	if response, err := http.Get(url + "/readyz"); err == nil { // else it has just ended
		_ = json.NewDecoder(response.Body).Decode(&s) // else there is no role
		response.Body.Close()
	}
	s.level, s.aside = metricOf(t, url, "muster_cell_feature_level"), metricOf(t, url, "muster_cell_stands_aside")
	return s
}

// metricOf returns the value of a metric of a server, or "".
func metricOf(t *testing.T, url, name string) string {
	t.Helper()
	response, err := http.Get(url + "/metrics")
	if err != nil {
		return "" // it has just ended
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	if found := regexp.MustCompile("(?m)^" + name + " (.*)$").FindSubmatch(text); found != nil {
		return string(found[1])
	}
	return ""
}

// becomes waits until a server tells of itself what is expected.
func becomes(t *testing.T, url, what string, holds func(standing) bool) {
	t.Helper()
	wait.For(t, what, func() error {
		if s := standingOf(t, url); !holds(s) {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
}

func owns(level string) func(standing) bool {
	return func(s standing) bool { return s.Role == "owner" && s.level == level && s.aside == "0" }
}

// shows waits until `muster admin servers` prints a line that matches.
func shows(t *testing.T, url, what, line string) {
	t.Helper()
	wait.Until(t, what+" is shown", func() bool {
		out, err := exec.Command(node.Path(t), "admin", "servers", "--endpoint", url).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return regexp.MustCompile(line).Match(out)
	})
}

// TestUpgrade_Rolling replaces two servers of an earlier release one after the other. Either
// release serves while both are there; once none of the earlier one is left, a server of it
// that comes back stands aside, even if nobody else is there.
func TestUpgrade_Rolling(t *testing.T) {
	node.Path(t)
	url := pgtest.URL(t)
	old, cell, key := earlier(t), pgtest.Cell(t, url), filepath.Join(t.TempDir(), "master.key")
	listen, data := [2]string{node.Reserve(t), node.Reserve(t)}, [2]string{t.TempDir(), t.TempDir()}
	start := func(i int, path string) *node.Process {
		t.Helper()
		p, err := node.Run(path, "local", "--demo=false", "--listen", listen[i], "--data", data[i], "--master-key-file", key,
			"--store", url, "--cell", cell, "--lease", "1s", "--log-level", "warn")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Kill)
		return p
	}
	stop := func(p *node.Process) {
		t.Helper()
		if err := p.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	p := &passage{T: t}
	first, second := start(0, old), start(1, old)
	p.check(first.URL, "both are of the earlier release")
	stop(second)
	second = start(1, later(t))
	p.check(second.URL, "one is upgraded")
	stop(first)
	becomes(t, second.URL, "the new release owns the cell", owns(newest))
	shows(t, second.URL, "which server the level waits for", earlierRelease+" +"+newest+" +"+newest+" +.*the level of the state waits for it")
	p.check(second.URL, "the other one is stopped")
	first = start(0, old) // back to the earlier release
	stop(second)
	becomes(t, first.URL, "the earlier release takes the cell back", owns(newest))
	p.check(first.URL, "it is downgraded")
	second = start(1, later(t))
	stop(first)
	first = start(0, later(t))
	becomes(t, second.URL, "no server of the earlier release is left", owns(above))
	p.check(first.URL, "both are upgraded")

	stop(first)
	first = start(0, old)
	becomes(t, first.URL, "a server of the earlier release stands aside", func(s standing) bool {
		return s.Role == "standby" && s.aside == "1" && strings.Contains(s.Aside, "use Muster "+laterRelease+", or a newer release")
	})
	p.check(first.URL, "a server stands aside") // it forwards
	second.Kill()
	becomes(t, first.URL, "it does not take the cell", func(s standing) bool {
		return s.Role == "" && strings.Contains(s.Reason, "no node owns the cell; the state has feature level "+above)
	})
	if log := first.Log(); !strings.Contains(log, "stands aside") {
		t.Errorf("its log does not say so:\n%s", log)
	}
	second = start(1, later(t))
	becomes(t, second.URL, "the new release serves again", owns(above))
	p.check(first.URL, "after that")
	p.check(second.URL, "after that")
}

// TestUpgrade_Agents hosts a game with an agent and a server that are too many releases apart
// to be supported, whichever of them is the newer one. Both say so, and nothing is refused.
// Then the agent is replaced by one of the server's release, and the game goes on in the same
// process, though the agent is to stop its game servers.
func TestUpgrade_Agents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, agent, agentRelease, server string
		ports                             int
	}{
		{"older agent", earlier(t), earlierRelease, later(t), 24000},
		{"newer agent", later(t), laterRelease, earlier(t), 24200},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSiteOf(t, here(t), c.server)
			made, err := s.console.CreateJoinToken(t.Context(), client.JoinTokenInput{})
			if err != nil {
				t.Fatal(err)
			}
			program := filepath.Join(t.TempDir(), "muster")
			if err := os.Link(c.agent, program); err != nil {
				t.Fatal(err)
			}
			g := s.guestOf(program, "apart", made.Token, c.ports)
			joined := s.seen.want(1, "the agent", code("HOST_CONNECTED", 0))
			const why = "more than 2 minor releases apart"
			if !strings.Contains(joined.Message, why) {
				t.Errorf("the event of its connection says %q", joined.Message)
			}
			if list := s.must("hosts"); !strings.Contains(list, c.agentRelease+" (unsupported)") {
				t.Errorf("the list of hosts:\n%s", list)
			}
			if n := metricOf(t, s.server.URL, "muster_hosts_unsupported"); n != "1" {
				t.Errorf("%s agents are unsupported", n)
			}
			fleet := s.fleet(s.build(arena(t)), server, 1, relayed)
			s.seen.want(1, "a game server", code("SERVER_PROCESS_ACTIVE", 0))
			s.seen.want(1, "the fleet to be ACTIVE", code("FLEET_STATE_ACTIVE", 0))
			game, before := s.create(fleet), s.running(g, 1)

			next := filepath.Join(t.TempDir(), "muster")
			if err := os.Link(c.server, next); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(next, program); err != nil {
				t.Fatal(err)
			}
			if err := g.cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			if back := s.seen.want(1, "the other agent", code("HOST_CONNECTED", joined.Seq)); back.Message != "" {
				t.Errorf("the event of its connection says %q", back.Message)
			}
			if list := s.must("hosts"); strings.Contains(list, "unsupported") {
				t.Errorf("the list of hosts:\n%s", list)
			}
			if after := s.running(g, 1); !slices.Equal(after, before) {
				t.Errorf("game servers were %v and are %v", before, after)
			}
			if now := s.session(game.GameSessionId); now.Status != types.GameSessionStatusActive {
				t.Errorf("the game session is %s", now.Status)
			}
			s.noneCrashed()
			g.cmd.Process.Signal(syscall.SIGTERM)
			<-g.exited
			if log := g.log.String(); strings.Count(log, why) != 1 {
				t.Errorf("the agents' log:\n%s", log)
			}
		})
	}
}

// TestUpgrade_Taken takes the cell by force for an earlier release: the database itself
// refuses it, and the owner notices nothing.
func TestUpgrade_Taken(t *testing.T) {
	node.Path(t)
	url := pgtest.URL(t)
	cell, key := pgtest.Cell(t, url), filepath.Join(t.TempDir(), "master.key")
	args := func(listen string) []string {
		return []string{"local", "--demo=false", "--listen", listen, "--data", t.TempDir(), "--master-key-file", key, "--store", url, "--cell", cell, "--lease", "1s", "--log-level", "warn"}
	}
	p, err := node.Run(later(t), args("127.0.0.1:0")...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	schema := sqltext.Quote("muster_" + cell)
	wait.Until(t, "the owner has raised the level of the state", func() (raised bool) {
		if err := conn.QueryRow(t.Context(), `SELECT "version"::text = $1 FROM `+schema+`."muster_schema"`, above).Scan(&raised); err != nil {
			t.Fatal(err)
		}
		return raised
	})
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	fence := func() (owner string) {
		t.Helper()
		if err := conn.QueryRow(t.Context(), `SELECT "owner" FROM `+schema+`."muster_cell"`).Scan(&owner); err != nil {
			t.Fatal(err)
		}
		return owner
	}
	before := fence()
	// As after a restore into another database, whose leases know nothing of levels.
	if _, err := conn.Exec(t.Context(), `UPDATE "muster"."lease" SET "level" = "level" - 1 WHERE "cell" = $1`, cell); err != nil {
		t.Fatal(err)
	}
	if _, err := node.Run(earlier(t), args("127.0.0.1:0")...); err == nil || !strings.Contains(err.Error(), "use Muster "+laterRelease+", or a newer release") {
		t.Errorf("an earlier release on a newer state: %v", err)
	}
	if after := fence(); after != before {
		t.Errorf("it took the fence: %s, before %s", after, before)
	}
}

// TestUpgrade_SQLite checks that an earlier release refuses a file that a newer one has
// written, unless that was told to hold the level.
func TestUpgrade_SQLite(t *testing.T) {
	old, data := earlier(t), t.TempDir()
	run := func(path string, more ...string) error {
		p, err := node.Run(path, append([]string{"local", "--demo=false", "--listen", "127.0.0.1:0", "--data", data, "--log-level", "warn"}, more...)...)
		if err != nil {
			return err
		}
		return p.Stop()
	}
	for _, step := range []struct {
		path, refused string
		more          []string
	}{
		{path: old},
		{path: later(t), more: []string{"--feature-level", newest}},
		{path: old},
		{path: old, more: []string{"--feature-level", above}, refused: "feature-level: " + above + " is not one of 1 to " + newest},
		{path: later(t)},
		{path: old, refused: "feature level " + above + ", and this program knows levels up to " + newest + ": use Muster " + laterRelease + ", or a newer release"},
		{path: later(t)},
	} {
		err := run(step.path, step.more...)
		if step.refused == "" && err != nil || step.refused != "" && (err == nil || !strings.Contains(err.Error(), step.refused)) {
			t.Errorf("%s %v: %v, want %q", filepath.Base(step.path), step.more, err, step.refused)
		}
	}
}
