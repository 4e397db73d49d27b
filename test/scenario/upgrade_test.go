package scenario

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/jackc/pgx/v5"

	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/store/sqltext"
	"github.com/musterhq/muster/test/node"
)

// earlier builds a muster as of an earlier release: one that knows only the first feature
// level.
func earlier(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "muster-earlier")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w -X github.com/musterhq/muster/internal/feature.known=1", "-o", path, "./cmd/muster")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build an earlier release: %v\n%s", err, out)
	}
	return path
}

// standing is what /readyz and /metrics tell about a server.
type standing struct {
	Role, Reason, Aside string
	level, aside        string // of the metrics
}

func standingOf(t *testing.T, url string) (s standing) {
	t.Helper()
	get := func(path string) []byte {
		response, err := http.Get(url + path)
		if err != nil {
			return nil // it has just ended
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		return body
	}
	_ = json.Unmarshal(get("/readyz"), &s) // then there is no role
	metrics := string(get("/metrics"))
	value := func(name string) string {
		if found := regexp.MustCompile("(?m)^" + name + " (.*)$").FindStringSubmatch(metrics); found != nil {
			return found[1]
		}
		return ""
	}
	s.level, s.aside = value("muster_cell_feature_level"), value("muster_cell_stands_aside")
	return s
}

// becomes waits until a server tells of itself what is expected.
func becomes(t *testing.T, url, what string, holds func(standing) bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		s := standingOf(t, url)
		if holds(s) {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("%s: %+v", what, s)
		}
	}
}

func owns(level string) func(standing) bool {
	return func(s standing) bool { return s.Role == "owner" && s.level == level && s.aside == "0" }
}

// TestUpgrade_Rolling replaces two servers of an earlier release one after the other. Either
// release serves while both are there; once none of the earlier one is left, a server of it
// that comes back stands aside, even if nobody else is there.
func TestUpgrade_Rolling(t *testing.T) {
	node.Path(t)
	url := pgtest.URL(t)
	old, cell, key := earlier(t), pgtest.Cell(t, url), filepath.Join(t.TempDir(), "master.key")
	listen, data := [2]string{freeAddress(t), freeAddress(t)}, [2]string{t.TempDir(), t.TempDir()}
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
	names := []string{}
	write := func(p *node.Process) {
		t.Helper()
		name := "custom-" + string(rune('a'+len(names)))
		if _, err := node.Client(p.URL).CreateLocation(t.Context(), &gamelift.CreateLocationInput{LocationName: aws.String(name)}); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	first, second := start(0, old), start(1, old)
	write(first)
	stop(second)
	second = start(1, node.Path(t))
	write(second)
	stop(first)
	becomes(t, second.URL, "the new release owns the cell", owns("1"))
	write(second)
	first = start(0, old) // back to the earlier release
	stop(second)
	becomes(t, first.URL, "the earlier release takes the cell back", owns("1"))
	write(first)
	second = start(1, node.Path(t))
	stop(first)
	first = start(0, node.Path(t))
	becomes(t, second.URL, "no server of the earlier release is left", owns("2"))
	write(first)

	stop(first)
	first = start(0, old)
	becomes(t, first.URL, "a server of the earlier release stands aside", func(s standing) bool {
		return s.Role == "standby" && s.aside == "1" && strings.Contains(s.Aside, "use Muster v0.1.0, or a newer release")
	})
	write(first) // it forwards
	second.Kill()
	becomes(t, first.URL, "it does not take the cell", func(s standing) bool {
		return s.Role == "" && strings.Contains(s.Reason, "no node owns the cell; the state has feature level 2")
	})
	if log := first.Log(); !strings.Contains(log, "stands aside") {
		t.Errorf("its log does not say so:\n%s", log)
	}
	second = start(1, node.Path(t))
	becomes(t, second.URL, "the new release serves again", owns("2"))
	write(first)
	found, err := node.Client(second.URL).ListLocations(t.Context(), &gamelift.ListLocationsInput{})
	if err != nil {
		t.Fatal(err)
	}
	told := ""
	for _, l := range found.Locations {
		told += aws.ToString(l.LocationName) + " "
	}
	for _, name := range names {
		if !strings.Contains(told, name+" ") {
			t.Errorf("%s is lost; there are %s", name, told)
		}
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
	p := node.Start(t, args(freeAddress(t))[2:]...)
	becomes(t, p.URL, "the owner raises the level", owns("2"))
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	fence := func() (owner string) {
		t.Helper()
		if err := conn.QueryRow(t.Context(), `SELECT "owner" FROM `+sqltext.Quote("muster_"+cell)+`."muster_cell"`).Scan(&owner); err != nil {
			t.Fatal(err)
		}
		return owner
	}
	before := fence()
	// As after a restore into another database, whose leases know nothing of levels.
	if _, err := conn.Exec(t.Context(), `UPDATE "muster"."lease" SET "level" = 1 WHERE "cell" = $1`, cell); err != nil {
		t.Fatal(err)
	}
	if _, err := node.Run(earlier(t), args(freeAddress(t))...); err == nil || !strings.Contains(err.Error(), "use Muster v0.1.0, or a newer release") {
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
		{path: node.Path(t), more: []string{"--feature-level", "1"}},
		{path: old},
		{path: old, more: []string{"--feature-level", "2"}, refused: "feature-level: 2 is not one of 1 to 1"},
		{path: node.Path(t)},
		{path: old, refused: "feature level 2, and this program knows levels up to 1: use Muster v0.1.0, or a newer release"},
		{path: node.Path(t)},
	} {
		err := run(step.path, step.more...)
		if step.refused == "" && err != nil || step.refused != "" && (err == nil || !strings.Contains(err.Error(), step.refused)) {
			t.Errorf("%s %v: %v, want %q", filepath.Base(step.path), step.more, err, step.refused)
		}
	}
}
