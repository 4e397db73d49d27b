package cell_test

import (
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/cell"
	"github.com/musterhq/muster/internal/feature"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/wait"
)

// brief is a lease after which nodes soon register again.
const brief = time.Second

// Levels that only tests know.
const (
	second = feature.First + 1
	third  = feature.First + 2
)

func init() { feature.Extend("v9.1.0", "v9.2.0") }

// agrees makes a node one of a release that knows a level.
func agrees(level feature.Level) func(*cell.Options) {
	return func(o *cell.Options) { o.Level, o.TTL = level, brief }
}

// agreed waits until the owner knows that all nodes of the cell know a level.
func (n *node) agreed(want feature.Level) {
	n.Helper()
	late := time.After(time.Minute)
	for {
		got, changed := n.keeper.Agreed()
		if got == want {
			return
		}
		select {
		case <-changed:
		case <-late:
			n.Fatalf("the nodes agree on level %d, want %d", got, want)
		}
	}
}

// The level waits for the node that knows least, until that is replaced or has been gone
// for long.
func TestLevel_WaitsForAll(t *testing.T) {
	url := pgtest.URL(t)
	owner := join(t, url, "level-owner", agrees(feature.Known()))
	owner.agreed(feature.Known())
	owner.raised(feature.Known())
	older := join(t, url, "level-older", agrees(feature.First))
	owner.agreed(feature.First)
	if owner.keeper.Level() != feature.Known() || older.keeper.Aside() != nil {
		t.Errorf("the level was lowered to %d, or a node that knows it stands aside: %v", owner.keeper.Level(), older.keeper.Aside())
	}
	older.leave()
	join(t, url, "level-older", agrees(feature.Known())).agreedNothing()
	owner.agreed(feature.Known())
	join(t, url, "level-away", agrees(feature.First)).leave()
	owner.agreed(feature.First)
	pgtest.Execute(t, url, `UPDATE "muster"."node" SET "seen" = "seen" - interval '61 minutes' WHERE "node" = 'level-away'`)
	owner.agreed(feature.Known())
}

// raised raises the level for other nodes.
func (n *node) raised(level feature.Level) {
	n.Helper()
	if err := n.keeper.Raise(n.Context(), level); err != nil || n.keeper.Level() < level {
		n.Fatalf("the level is %d, want %d: %v", n.keeper.Level(), level, err)
	}
}

// The owner may wait with a level that all nodes know: until it raises that, no node stands aside.
func TestLevel_Raise(t *testing.T) {
	url := pgtest.URL(t)
	owner := join(t, url, "raise-owner", agrees(second))
	owner.agreed(second)
	stored := func() string {
		t.Helper()
		return pgtest.Ask(t, url, `SELECT "level"::text FROM "muster"."lease"`)
	}
	if stored() != "1" || owner.keeper.Level() != feature.First {
		t.Errorf("the level was raised to %s before it was asked for", stored())
	}
	if err := owner.keeper.Raise(t.Context(), third); err == nil || !strings.Contains(err.Error(), "knows only feature levels up to 2") {
		t.Errorf("raised to a level that not all nodes know: %v", err)
	}
	owner.raised(second)
	if stored() != "2" {
		t.Errorf("the lease has level %s", stored())
	}
	owner.raised(feature.First) // changes nothing
	next := join(t, url, "raise-next", agrees(third))
	pgtest.Execute(t, url, `UPDATE "muster"."lease" SET "node" = 'raise-next', "epoch" = "epoch" + 1`, `UPDATE "muster"."node" SET "level" = 3`)
	<-owner.keeper.Lost()
	if err := owner.keeper.Raise(t.Context(), third); err == nil || stored() != "2" {
		t.Errorf("a former owner raised the level to %s: %v", stored(), err)
	}
	next.leave()
	owner.leave()
	if err := owner.keeper.Raise(t.Context(), third); err == nil {
		t.Error("a node that has left raised the level")
	}
}

// A role that may not create the tables of leases is told what to do, and needs no more than to
// use them once they are there.
func TestRole(t *testing.T) {
	database := pgtest.Database(t)
	const role = "cell_role"
	pgtest.Execute(t, database, "CREATE ROLE "+role)
	t.Cleanup(func() { pgtest.Execute(t, database, "DROP OWNED BY "+role, "DROP ROLE "+role) })
	at, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	as := at.Query()
	as.Set("role", role)
	at.RawQuery = as.Encode()
	open := func() error {
		keeper, err := cell.Open(t.Context(), cell.Options{URL: at.String(), Cell: "c", Secret: []byte("secret"), Node: cell.Node{Name: "a", Address: "a:1"}})
		if err == nil {
			err = keeper.Close(t.Context())
		}
		return err
	}
	refused := func(when, remedy string) {
		t.Helper()
		if err := open(); err == nil || !strings.Contains(err.Error(), remedy) {
			t.Errorf("%s: %v, want %q", when, err, remedy)
		}
	}
	refused("no schema", "GRANT CREATE ON DATABASE")
	owner := enter(t, database, "owner")
	owner.leave()
	refused("no right to use the tables", "GRANT USAGE ON SCHEMA muster TO "+role)
	pgtest.Execute(t, database, "GRANT USAGE ON SCHEMA muster TO "+role+"; GRANT SELECT, UPDATE ON ALL TABLES IN SCHEMA muster TO "+role)
	refused("no right to write", "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES")
	pgtest.Execute(t, database, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA muster TO "+role)
	if err := open(); err != nil {
		t.Error(err)
	}
	pgtest.Execute(t, database, `ALTER TABLE "muster"."lease" DROP COLUMN "confirmed"`)
	refused("a column is missing", "ALTER SCHEMA muster OWNER TO "+role)
	pgtest.Execute(t, database, "GRANT CREATE ON DATABASE "+strings.TrimPrefix(at.Path, "/")+" TO "+role+"; ALTER SCHEMA muster OWNER TO "+role+
		"; ALTER TABLE muster.lease OWNER TO "+role+"; ALTER TABLE muster.node OWNER TO "+role+"; ALTER TABLE muster.presence OWNER TO "+role)
	if err := open(); err != nil {
		t.Error(err)
	}
}

// agreedNothing checks that a node that does not own the cell says nothing about levels.
func (n *node) agreedNothing() {
	n.Helper()
	if level, _ := n.keeper.Agreed(); level != 0 {
		n.Errorf("a standby says that the nodes agree on level %d", level)
	}
}

// The nodes of a cell know of each other's releases, and warn once of one that is not
// supported beside theirs.
func TestMembers(t *testing.T) {
	url := pgtest.URL(t)
	var log strings.Builder
	told := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	owner := join(t, url, "members-a", func(o *cell.Options) { o.TTL, o.Release, o.Logger = brief, "v0.5.0", told })
	join(t, url, "members-b", func(o *cell.Options) { o.TTL, o.Release = brief, "v0.5.1" })
	older := join(t, url, "members-c", func(o *cell.Options) { o.TTL, o.Release, o.Level = brief, "v0.2.0", feature.First })
	older.agreedNothing()
	owner.agreed(feature.First) // it has registered after all of them
	older.leave()
	pgtest.Execute(t, url, `UPDATE "muster"."node" SET "seen" = "seen" - interval '61 minutes' WHERE "node" = 'members-c'`)
	owner.agreed(feature.Known())
	text := ""
	for _, m := range owner.keeper.Members() {
		text += fmt.Sprintln(m.Name, m.Address != "", m.Release, m.Level, m.Away, m.Gone())
	}
	if want := fmt.Sprintf("members-a true v0.5.0 %d false false\nmembers-b true v0.5.1 %[1]d false false\nmembers-c true v0.2.0 1 true true\n", feature.Known()); text != want {
		t.Errorf("the nodes are\n%swant\n%s", text, want)
	}
	owner.leave()
	if n := strings.Count(log.String(), "is not supported beside this one"); n != 1 || !strings.Contains(log.String(), "v0.2.0 and v0.5.0 are more than 2 minor releases apart") {
		t.Errorf("it warns:\n%s", log.String())
	}
}

// A node that does not know the cell's level does not take the cell, and forwards to who
// does.
func TestLevel_OlderStandsAside(t *testing.T) {
	url := pgtest.URL(t)
	owner := join(t, url, "aside-owner", func(o *cell.Options) { o.TTL = brief })
	older := join(t, url, "aside-older", func(o *cell.Options) { o.TTL = brief })
	pgtest.Execute(t, url, `UPDATE "muster"."lease" SET "level" = 99, "release" = 'v9.0.0'`)
	wait.Until(t, "the node stands aside", func() bool { return older.keeper.Aside() != nil })
	if why := older.keeper.Aside().Error(); !strings.Contains(why, "use Muster v9.0.0") {
		t.Errorf("it does not say which release is needed: %s", why)
	}
	if _, body := older.ask(); !strings.HasPrefix(body, "aside-owner ") {
		t.Errorf("the node that stands aside does not forward: %s", body)
	}
	owner.leave()
	pgtest.Execute(t, url, `UPDATE "muster"."node" SET "seen" = '-infinity' WHERE "node" = 'aside-older'`)
	again(t, url) // several looks and an expired lease later
	if older.owns() {
		t.Error("a node that does not know the cell's level took it")
	}
	if late := join(t, url, "aside-late", func(o *cell.Options) { o.TTL = brief }); late.owns() || late.keeper.Aside() == nil {
		t.Error("a node that starts then takes the cell")
	}
}

// again waits until the older node has registered anew, which it does after looking at the
// lease many times.
func again(t *testing.T, url string) {
	t.Helper()
	wait.Until(t, "the older node has registered anew", func() bool {
		return pgtest.Ask(t, url, `SELECT ("seen" > '-infinity')::text FROM "muster"."node" WHERE "node" = 'aside-older'`) == "true"
	})
}
