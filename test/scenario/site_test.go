package scenario

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// site is a Muster on the network of a lab, and its clients.
type site struct {
	t       *testing.T
	lab     *lab
	path    string // of the server's program
	args    []string
	server  *node.Process
	client  *gamelift.Client
	console *client.Client
	seen    *journal
}

// newSite starts `muster serve` on a lab's network; flags are additional flags.
func newSite(t *testing.T, l *lab, flags ...string) *site {
	t.Helper()
	return newSiteOf(t, l, node.Path(t), flags...)
}

// newSiteOf is like newSite with another program.
func newSiteOf(t *testing.T, l *lab, path string, flags ...string) *site {
	t.Helper()
	free, err := net.Listen("tcp", l.address.String()+":0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	data := t.TempDir()
	s := &site{t: t, lab: l, path: path, args: append([]string{"serve", "--listen", free.Addr().String(), "--data", data, "--log-level", "warn", "--insecure-plain-http"}, flags...)}
	s.start()
	t.Cleanup(func() {
		s.server.Kill()
		if t.Failed() {
			t.Logf("the end of the server's log:\n%s", s.server.Log())
		}
	})
	key := node.FirstKey(t, data)
	s.client = node.ClientAs(s.server.URL, key.AccessKeyID, key.SecretAccessKey)
	s.console = &client.Client{Endpoint: s.server.URL, Credentials: key}
	s.seen = follow(t, s.console)
	return s
}

func (s *site) start() {
	s.t.Helper()
	var err error
	if s.server, err = node.Run(s.path, s.args...); err != nil {
		s.t.Fatal(err)
	}
}

// hosting returns a site with one machine, on which a fleet of one instance runs copies of the server
// of a build.
func hosting(t *testing.T, files map[string][]byte, parameters string, copies int32, change ...func(*gamelift.CreateFleetInput)) (s *site, m *machine, fleet, instance string) {
	t.Helper()
	s = newSite(t, newLab(t))
	m = s.lab.machine()
	s.run(m, small...)
	fleet = s.fleet(s.build(files), parameters, copies, change...)
	return s, m, fleet, s.instance(m, 1, 0)
}

// restart kills the server as a power failure would, and starts it again.
func (s *site) restart() {
	s.t.Helper()
	s.server.Kill()
	s.start()
}

// run starts the agent of a machine, which joins if it has not yet; more are flags of
// `muster agent`.
func (s *site) run(m *machine, more ...string) {
	s.t.Helper()
	token, err := s.console.CreateJoinToken(s.t.Context(), client.JoinTokenInput{})
	if err != nil {
		s.t.Fatal(err)
	}
	args := append([]string{"agent", "--server", s.server.URL, "--root", m.root, "--ip", m.address, "--name", m.name, "--ports", "20000-20400", "--insecure-plain-http"}, more...)
	m.agent = m.command(node.Path(s.t), args...)
	m.agent.Env = append(os.Environ(), "MUSTER_TOKEN="+token.Token)
	log, err := os.OpenFile(filepath.Join(s.t.TempDir(), m.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	m.agent.Stderr = log
	if err := m.agent.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if text, err := os.ReadFile(log.Name()); err == nil && s.t.Failed() {
			s.t.Logf("the end of the log of %s:\n%s", m.name, text[max(0, len(text)-4000):])
		}
	})
}

// journal is every event so far, across restarts of the server.
type journal struct {
	t      *testing.T
	mu     sync.Mutex
	events []client.Event
	more   chan struct{} // closed and replaced with each event
}

func follow(t *testing.T, c *client.Client) *journal {
	j := &journal{t: t, more: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := c.Events(ctx, client.EventQuery{Last: 1000, Follow: true}, j.take); err != nil {
			t.Errorf("the events end: %v", err)
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return j
}

func (j *journal) take(e client.Event) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
	close(j.more)
	j.more = make(chan struct{})
	return nil
}

// all returns the matching events so far.
func (j *journal) all(match func(client.Event) bool) []client.Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	var found []client.Event
	for _, e := range j.events {
		if match(e) {
			found = append(found, e)
		}
	}
	return found
}

// late is the longest that any single thing may take that a scenario waits for; it
// does not say how long it should take.
const late = 2 * time.Minute

// want waits until n events match, and returns the last of them.
func (j *journal) want(n int, what string, match func(client.Event) bool) client.Event {
	j.t.Helper()
	patience := time.After(late)
	for {
		j.mu.Lock()
		more := j.more
		j.mu.Unlock()
		found := j.all(match)
		if len(found) >= n {
			return found[n-1]
		}
		select {
		case <-more:
		case <-patience:
			j.t.Fatalf("waited in vain for %s: %d of %d", what, len(found), n)
		}
	}
}

// code matches events of a code after a sequence number.
func code(code string, after uint64) func(client.Event) bool {
	return func(e client.Event) bool { return e.Code == code && e.Seq > after }
}

// on restricts a match to a compute.
func on(compute string, match func(client.Event) bool) func(client.Event) bool {
	return func(e client.Event) bool { return e.ComputeName == compute && match(e) }
}

// of restricts a match to a game session.
func of(gameSessionID string, match func(client.Event) bool) func(client.Event) bool {
	return func(e client.Event) bool { return e.GameSessionID == gameSessionID && match(e) }
}

// find returns a machine as operators see it, once it has joined.
func (s *site) find(m *machine) client.Host {
	s.t.Helper()
	return wait.Value(s.t, m.name+" has joined", func() (client.Host, error) {
		all, err := s.console.Hosts().List(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		for _, h := range all {
			if h.Name == m.name {
				return h, nil
			}
		}
		return client.Host{}, fmt.Errorf("there are %d others", len(all))
	})
}

// host restricts a match to events of a machine.
func (s *site) host(m *machine, match func(client.Event) bool) func(client.Event) bool {
	s.t.Helper()
	id := s.find(m).HostID
	return func(e client.Event) bool { return e.Resource == id && match(e) }
}

// instance waits for the nth instance created on a machine after an event, and for a
// ready process on it.
func (s *site) instance(m *machine, n int, after uint64) string {
	s.t.Helper()
	made := s.seen.want(n, "an instance on "+m.name, func(e client.Event) bool {
		return code("INSTANCE_CREATED", after)(e) && strings.Contains(e.Message, "("+m.name+")")
	})
	s.seen.want(1, "an ACTIVE instance on "+m.name, on(made.ComputeName, code("INSTANCE_ACTIVE", after)))
	return made.ComputeName
}

// build uploads files as a build, as the AWS CLI does, and returns its id once it is READY.
func (s *site) build(files map[string][]byte) string {
	s.t.Helper()
	id, err := node.Upload(s.t.Context(), s.server.URL, s.client, files)
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

// fleet creates a managed fleet of one instance, on which copies processes run the
// program with the parameters. c5.large has 2 processors and 4 GiB.
func (s *site) fleet(buildID, parameters string, copies int32, change ...func(*gamelift.CreateFleetInput)) string {
	s.t.Helper()
	in := &gamelift.CreateFleetInput{
		Name: aws.String("scenario"), BuildId: &buildID, EC2InstanceType: types.EC2InstanceTypeC5Large,
		RuntimeConfiguration: &types.RuntimeConfiguration{ServerProcesses: []types.ServerProcess{entry("server", parameters, copies)}},
	}
	for _, f := range change {
		f(in)
	}
	made, err := s.client.CreateFleet(s.t.Context(), in)
	if err != nil {
		s.t.Fatal(err)
	}
	return *made.FleetAttributes.FleetId
}

// relayed makes a fleet's processes connect through their agent.
func relayed(in *gamelift.CreateFleetInput) {
	in.Tags = append(in.Tags, types.Tag{Key: aws.String("muster:relay"), Value: aws.String("true")})
}

// scale sets the number of instances of a fleet.
func (s *site) scale(fleetID string, desired int32) {
	s.t.Helper()
	if _, err := s.client.UpdateFleetCapacity(s.t.Context(), &gamelift.UpdateFleetCapacityInput{
		FleetId: &fleetID, DesiredInstances: &desired, MaxSize: aws.Int32(max(desired, 1)),
	}); err != nil {
		s.t.Fatal(err)
	}
}

// arena returns a build of the demo game, which uses AWS's own Server SDK.
func arena(t *testing.T) map[string][]byte {
	t.Helper()
	content, err := os.ReadFile(node.Arena(t))
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"server": content}
}
