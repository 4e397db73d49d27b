package app_test

import (
	"context"
	"encoding/json"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/wait"
)

// owned returns the regions that a node owns, by its own account.
func owned(t *testing.T, a *app.App) (regions []string) {
	t.Helper()
	_, body := get(t, "http://"+a.Addr().String()+"/readyz")
	var ready struct {
		Regions map[string]struct {
			Role string `json:"role"`
		} `json:"regions"`
	}
	if err := json.Unmarshal([]byte(body), &ready); err != nil {
		t.Fatalf("/readyz is %s: %v", body, err)
	}
	for _, region := range threeRegions {
		if ready.Regions[region].Role == "owner" {
			regions = append(regions, region)
		}
	}
	return regions
}

var threeRegions = []string{"us-east-1", "eu-central-1", "ap-northeast-1"}

// Three nodes on one PostgreSQL share three regions: each gets one, the preferred ones, one
// after the other. What a node that stops owned goes on with others, and comes back to it
// when it is there again. Every node answers for every region all the time.
func TestRegions_Spread(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	base := options(t, func(o *app.Options) { o.Store, o.Regions, o.LeaseTTL = url, threeRegions, time.Second })
	base.MasterKeyFile = base.DataDir + "/shared.key"
	preferred := []string{"us-east-1", "ap-northeast-1", "eu-central-1"}
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	node := func(i int) *app.App {
		o := base
		o.DataDir, o.PreferRegions = dirs[i], preferred[i:i+1]
		return begin(t, o)
	}
	nodes := []*app.App{node(0), node(1), node(2)}
	serves := func(made map[string]string) {
		t.Helper()
		for _, a := range nodes {
			for _, region := range threeRegions {
				c := &client.Client{Endpoint: "http://" + a.Addr().String(), Region: region}
				var out struct{ FleetIds []string }
				if err := c.Call(t.Context(), "ListFleets", map[string]any{}, &out); err != nil {
					t.Errorf("%s: %v", region, err)
				} else if len(out.FleetIds) != 1 || out.FleetIds[0] != made[region] {
					t.Errorf("the fleets in %s are %v, want %s", region, out.FleetIds, made[region])
				}
			}
		}
	}
	made := map[string]string{}
	for i, region := range threeRegions {
		c := &client.Client{Endpoint: "http://" + nodes[i].Addr().String(), Region: region}
		id, arn := anywhere(t, c, "a")
		if !strings.Contains(arn, region) {
			t.Errorf("a fleet in %s is %s", region, arn)
		}
		made[region] = id
	}
	settled := func() bool {
		for i, a := range nodes {
			if got := owned(t, a); len(got) != 1 || got[0] != preferred[i] {
				return false
			}
		}
		return true
	}
	wait.Until(t, "each node has its region", settled)
	serves(made)

	stop(t, nodes[2])
	nodes = nodes[:2]
	wait.Until(t, "another node has the region of the one that stopped", func() bool { return len(owned(t, nodes[0]))+len(owned(t, nodes[1])) == 3 })
	serves(made)
	nodes = append(nodes, node(2))
	wait.Until(t, "the region is back with its node", settled)
	serves(made)
}

// A node starts though it loses the lease of a region before it has: the region gets another
// replica, as after the start.
func TestRegions_LeaseRunsOutAtStart(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { listener.Close() })
	database := must(pgx.Connect(t.Context(), url))(t)
	t.Cleanup(func() { database.Close(context.Background()) })
	log, lost, locked := new(screen), make(chan struct{}), make(chan error, 1)
	go func() { // the node looks whether it reaches itself once it has all leases, and waits for an answer
		c, err := listener.Accept()
		if err != nil {
			locked <- err
			return
		}
		defer c.Close()
		locked <- holdLeases(t.Context(), database, lost)
	}()
	a := start(t, func(o *app.Options) {
		o.Store, o.Regions, o.LeaseTTL = url, threeRegions, time.Second
		o.NodeAddress, o.Logger = listener.Addr().String(), jsonLog(log)
	})
	wait.Until(t, "a region gets another replica", func() bool {
		return strings.Contains(log.String(), `"the region gets another replica on this node","region":"us-east-1","error":"another node has taken the cell`)
	})
	close(lost)
	check(t, <-locked)
	wait.Until(t, "the node owns each region", func() bool { return len(owned(t, a)) == len(threeRegions) })
}

// holdLeases keeps leases from being renewed until a channel is closed.
func holdLeases(ctx context.Context, database *pgx.Conn, until <-chan struct{}) error {
	tx, err := database.Begin(ctx)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `LOCK TABLE "muster"."lease"`); err != nil {
		return err
	}
	select {
	case <-until:
		return tx.Commit(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// What is about one server is logged once, whatever its regions: that other machines do not
// reach its node address.
func TestRegions_NodeAddressOnce(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	log := new(screen)
	start(t, func(o *app.Options) {
		o.AcceptAny, o.Store, o.Regions, o.Logger = false, url, threeRegions, jsonLog(log)
	})
	if n := strings.Count(log.String(), "give --node-address"); n != 1 {
		t.Errorf("it is logged %d times, want once:\n%s", n, log.String())
	}
}

// A region that has copies from the home region says how old they are; the home region has none.
func TestRegions_CopyAge(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) { *o = options(t, func(o *app.Options) { o.Regions = threeRegions[:2] }) })
	_, text := get(t, "http://"+a.Addr().String()+"/metrics")
	found := regexp.MustCompile(`(?m)^muster_region_copy_age_seconds\{region="([^"]+)"\} (\S+)$`).FindAllStringSubmatch(text, -1)
	if len(found) != 1 || found[0][1] != threeRegions[1] {
		t.Fatalf("the ages are %q", found)
	}
	if age, err := strconv.ParseFloat(found[0][2], 64); err != nil || age <= 0 {
		t.Errorf("the age is %q, %v", found[0][2], err)
	}
}
