package scenario

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

var (
	outages = flag.Int("outages", 1, "how often the database goes away, or the owner of a far one dies")
	crashed = flag.Duration("crashed", 3*time.Second, "how long a database that crashed stays away before it is started again")
)

// defaultLease is the lease of a server that is not configured otherwise.
const defaultLease = 5 * time.Second

// TestOutage_Restart restarts PostgreSQL under load, which takes a second: not one
// call of AWS's clients fails, with their own retries.
func TestOutage_Restart(t *testing.T) {
	outage(t, time.Second, (*pgtest.Server).Halt)
}

// TestOutage_Crash kills PostgreSQL's first process under load and restarts it after
// a few seconds. How long its recovery takes is not part of the test; no call fails if that
// is shorter than a lease, since requests wait for two of them: one is left for what comes
// after the recovery.
func TestOutage_Crash(t *testing.T) {
	outage(t, *crashed, (*pgtest.Server).Crash)
}

// outage makes the database unavailable to two servers under load, and checks that
// they keep everything they acknowledged and answer every call.
func outage(t *testing.T, away time.Duration, end func(*pgtest.Server) error) {
	node.Path(t)
	database := pgtest.Own(t)
	c := openCluster(t, 2, database.URL, "default", defaultLease)
	owner := c.owner()
	load := newAliases(t, "http://"+c.front)
	var muster, postgres []time.Duration
	for range *outages {
		load.await(t, 200)
		load.longest()
		begun := time.Now()
		if err := end(database); err != nil {
			t.Fatal(err)
		}
		time.Sleep(away - time.Since(begun)) // the intended length of the outage
		if err := database.Resume(); err != nil {
			t.Fatal(err)
		}
		postgres = append(postgres, time.Since(begun))
		load.await(t, 200)
		muster = append(muster, load.longest())
	}
	failed := load.end(t)
	if i := c.owner(); i != owner {
		t.Errorf("the outage changed the owner")
	}
	report(t, "PostgreSQL away", postgres)
	report(t, "no write acknowledged", muster)
	for _, err := range failed {
		if slices.Max(postgres) < defaultLease {
			t.Errorf("a call failed: %v", err)
		} else {
			t.Logf("a call failed: %v", err)
		}
	}
}

// TestOutage_FarDatabase kills the owner while each round trip to the database takes
// half a second: another server takes over and serves.
func TestOutage_FarDatabase(t *testing.T) {
	node.Path(t)
	database := pgtest.Own(t)
	key := filepath.Join(t.TempDir(), "master.key")
	far := delay(t, database.URL, 250*time.Millisecond)
	begun := time.Now()
	first := node.Start(t, "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--master-key-file", key, "--store", far)
	t.Logf("the first start, which made the tables, took %s", time.Since(begun).Round(10*time.Millisecond))
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	c := openCluster(t, 2, far, "default", defaultLease, "--master-key-file", key)
	var took []time.Duration
	for range *outages {
		i := c.owner()
		wait.For(t, fmt.Sprintf("server %d is a standby", 1-i), func() error {
			if other := c.role(1 - i); other != "standby" {
				return fmt.Errorf("it is %q", other)
			}
			return nil
		})
		client := node.Client("http://" + c.args[1-i][1])
		if _, err := client.ListAliases(t.Context(), &gamelift.ListAliasesInput{}); err != nil {
			t.Fatal(err)
		}
		c.servers[i].Kill()
		begun := time.Now()
		if _, err := client.ListAliases(t.Context(), &gamelift.ListAliasesInput{}); err != nil {
			t.Errorf("the first call after the owner's death: %v", err)
		}
		took = append(took, time.Since(begun))
		if c.role(1-i) != "owner" {
			t.Errorf("server %d answered and is no owner", 1-i)
		}
		c.servers[i] = c.launch(i)
	}
	report(t, "from the owner's death to the next answer", took)
}

func report(t *testing.T, what string, took []time.Duration) {
	t.Helper()
	slices.Sort(took)
	for i, d := range took {
		took[i] = d.Round(10 * time.Millisecond)
	}
	t.Logf("%s: median %s of %v", what, took[len(took)/2], took)
}

// aliases is a load of calls by AWS's clients: each creates an alias, reads it, and
// reads the fleet's events, which are only in the database.
type aliases struct {
	fleet string
	stop  context.CancelFunc
	ended sync.WaitGroup

	mu     sync.Mutex
	made   map[string]bool // ids of acknowledged aliases
	failed []error
	last   time.Time     // when an alias was last acknowledged
	gap    time.Duration // the longest time without one
	client *gamelift.Client
}

const aliasClients = 8

func newAliases(t *testing.T, url string) *aliases {
	t.Helper()
	l := &aliases{made: map[string]bool{}, client: node.Client(url), last: time.Now()}
	l.fleet = node.NewPlace(t, l.client).FleetID
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	t.Cleanup(stop)
	for i := range aliasClients {
		client := node.Client(url)
		l.ended.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				l.note(l.one(client, fmt.Sprintf("alias-%d-%d", i, n)))
			}
		})
	}
	return l
}

// one creates an alias and reads it. Its calls have no timeout.
func (l *aliases) one(client *gamelift.Client, name string) (id string, err error) {
	ctx := context.Background()
	routing := &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple, FleetId: aws.String(l.fleet)}
	made, err := client.CreateAlias(ctx, &gamelift.CreateAliasInput{Name: aws.String(name), RoutingStrategy: routing})
	if err != nil {
		return "", err
	}
	id = *made.Alias.AliasId
	if _, err := client.DescribeAlias(ctx, &gamelift.DescribeAliasInput{AliasId: aws.String(id)}); err != nil {
		return id, err
	}
	_, err = client.DescribeFleetEvents(ctx, &gamelift.DescribeFleetEventsInput{FleetId: aws.String(l.fleet), Limit: aws.Int32(1)})
	return id, err
}

func (l *aliases) note(id string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.failed = append(l.failed, err)
	}
	if id == "" {
		return
	}
	l.made[id] = true
	l.gap = max(l.gap, time.Since(l.last))
	l.last = time.Now()
}

// longest returns the longest time without an acknowledged alias since the last call.
func (l *aliases) longest() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	gap := l.gap
	l.gap, l.last = 0, time.Now()
	return gap
}

// await waits for n more aliases.
func (l *aliases) await(t *testing.T, n int) {
	t.Helper()
	count := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.made)
	}
	enough := count() + n
	wait.For(t, fmt.Sprintf("there are %d aliases", enough), func() error {
		if made := count(); made < enough {
			return fmt.Errorf("there are %d", made)
		}
		return nil
	})
}

// end stops the load, checks that nothing acknowledged is lost, and returns the calls
// that failed.
func (l *aliases) end(t *testing.T) []error {
	t.Helper()
	l.stop()
	l.ended.Wait()
	found := map[string]bool{}
	pages := gamelift.NewListAliasesPaginator(l.client, &gamelift.ListAliasesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range page.Aliases {
			found[*a.AliasId] = true
		}
	}
	for id := range l.made {
		if !found[id] {
			t.Errorf("alias %s was acknowledged and is lost", id)
		}
	}
	t.Logf("%d aliases acknowledged, %d calls failed", len(l.made), len(l.failed))
	return l.failed
}

// delay returns the URL of a PostgreSQL behind a link that delays everything by oneWay in
// each direction.
func delay(t *testing.T, database string, oneWay time.Duration) string {
	t.Helper()
	l := newDatabaseLink(t, database)
	l.set(oneWay, false)
	return l.url
}

// link is the way to a server, such as PostgreSQL.
type link struct {
	address string // where it begins
	url     string // of a PostgreSQL

	mu     sync.Mutex
	dial   func() (net.Conn, error)
	late   time.Duration // in each direction
	mended chan struct{} // closed unless the link is cut: what is sent arrives when it is not any more
}

// newDatabaseLink returns a link to a PostgreSQL.
func newDatabaseLink(t *testing.T, database string) *link {
	t.Helper()
	l := newLink(t, "")
	config := l.leadToDatabase(t, database)
	at := url.URL{Scheme: "postgres", User: url.User(config.User), Host: l.address, Path: "/" + config.Database, RawQuery: "sslmode=disable"}
	l.url = at.String()
	return l
}

// newLink returns a link to a TCP address.
func newLink(t *testing.T, to string) *link {
	t.Helper()
	l := &link{mended: make(chan struct{})}
	close(l.mended)
	l.lead("tcp", to)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	l.address = listener.Addr().String()
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			go l.join(near)
		}
	}()
	return l
}

// join leads a connection on.
func (l *link) join(near net.Conn) {
	l.mu.Lock()
	dial := l.dial
	l.mu.Unlock()
	far, err := dial()
	if err != nil {
		near.Close()
		return
	}
	go l.carry(near, far)
	l.carry(far, near)
}

// lead makes new connections lead to an address.
func (l *link) lead(network, to string) {
	l.leadBy(func() (net.Conn, error) { return net.Dial(network, to) })
}

func (l *link) leadBy(dial func() (net.Conn, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dial = dial
}

// balance returns the address of a load balancer without further knowledge: it passes each
// connection to a server that accepts connections.
func balance(t *testing.T, servers []string) (address string) {
	t.Helper()
	l := newLink(t, "")
	var turn atomic.Int64
	l.leadBy(func() (conn net.Conn, err error) {
		first := int(turn.Add(1))
		for i := range servers {
			if conn, err = net.DialTimeout("tcp", servers[(first+i)%len(servers)], time.Second); err == nil {
				return conn, nil
			}
		}
		return nil, err
	})
	return l.address
}

// leadToDatabase makes new connections lead to a PostgreSQL.
func (l *link) leadToDatabase(t *testing.T, database string) *pgx.ConnConfig {
	t.Helper()
	config, err := pgx.ParseConfig(database)
	if err != nil {
		t.Fatal(err)
	}
	l.lead(pgconn.NetworkAddress(config.Host, config.Port))
	return config
}

// set changes how late what is sent from now on arrives, and whether the link is cut.
func (l *link) set(late time.Duration, cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late = late
	select {
	case <-l.mended:
		if cut {
			l.mended = make(chan struct{})
		}
	default:
		if !cut {
			close(l.mended)
		}
	}
}

func (l *link) state() (late time.Duration, mended <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.late, l.mended
}

// carry copies one direction until either end is closed.
func (l *link) carry(to, from net.Conn) {
	type piece struct {
		bytes []byte
		due   time.Time
	}
	pieces := make(chan piece, 1<<12)
	go func() {
		defer to.Close()
		for p := range pieces {
			time.Sleep(time.Until(p.due)) // the distance
			_, mended := l.state()
			<-mended
			if _, err := to.Write(p.bytes); err != nil {
				from.Close()
			}
		}
	}()
	defer close(pieces)
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		late, _ := l.state()
		pieces <- piece{slices.Clone(buffer[:n]), time.Now().Add(late)}
	}
}
