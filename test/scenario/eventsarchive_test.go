package scenario

import (
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// A step of writing an object at which the server is killed.
type archiveStep int

const (
	never       archiveStep = iota
	beforeWrite             // the object is not stored
	afterWrite              // it is stored, and the server has no answer
)

// archiveDoor is in front of an S3 server, and holds up requests that store objects.
type archiveDoor struct {
	*httptest.Server
	proxy   http.Handler
	stored  chan struct{} // nudged after each object
	reached chan struct{} // receives when the step is reached
	killed  chan struct{} // the server is gone

	mu   sync.Mutex
	step archiveStep
}

func newArchiveDoor(t *testing.T, to string) *archiveDoor {
	t.Helper()
	at, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	d := &archiveDoor{proxy: httputil.NewSingleHostReverseProxy(at), stored: make(chan struct{}, 1), reached: make(chan struct{}), killed: make(chan struct{})}
	d.Server = httptest.NewServer(d)
	t.Cleanup(d.Close)
	return d
}

func (d *archiveDoor) plan(s archiveStep) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.step = s
}

// ServeHTTP implements http.Handler.
func (d *archiveDoor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	step := d.step
	if r.Method == http.MethodPut {
		d.step = never
	}
	d.mu.Unlock()
	if r.Method != http.MethodPut || step == never {
		d.proxy.ServeHTTP(w, r)
		select {
		case d.stored <- struct{}{}:
		default:
		}
		return
	}
	if step == afterWrite {
		d.proxy.ServeHTTP(httptest.NewRecorder(), r)
	}
	d.reached <- struct{}{}
	<-d.killed
	panic(http.ErrAbortHandler)
}

// TestEventsArchive kills a server at each step of writing an object to a bucket. Whatever the
// server's stream of events has is in the objects, exactly once.
func TestEventsArchive(t *testing.T) {
	door, client := archiveStorage(t)
	data, made := t.TempDir(), 0
	run := func() *node.Process {
		p := node.Start(t, "--listen", "127.0.0.1:0", "--data", data, "--events-archive", "s3://events/games", "--events-archive-every", "1s")
		for range 3 {
			made++
			if _, err := node.Client(p.URL).CreateLocation(t.Context(), &gamelift.CreateLocationInput{LocationName: aws.String(fmt.Sprintf("custom-%d", made))}); err != nil {
				t.Fatal(err)
			}
		}
		return p
	}
	reach := func(what string) {
		t.Helper()
		wait.Done(t, "the server to come to "+what, door.reached)
	}

	p := run() // there is no bucket yet
	for range 2 {
		<-door.stored // the log has the error before the next attempt
	}
	p.Kill()
	if want := "there is no bucket events: create it, or correct --events-archive"; !strings.Contains(p.Log(), want) {
		t.Errorf("the log does not say %q:\n%s", want, p.Log())
	}
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("events")}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []archiveStep{beforeWrite, afterWrite, beforeWrite, afterWrite} {
		door.plan(step)
		p := run()
		reach(fmt.Sprintf("step %d", step))
		p.Kill()
		door.killed <- struct{}{}
		run().Kill() // before anything is cut, mostly
	}
	p = run()
	door.complete(t, client, p, made)
}

// TestClusterEventsArchive kills the owner of a cell when an object is stored and it does not
// know that yet. The server that takes over continues, without doubles.
func TestClusterEventsArchive(t *testing.T) {
	url := pgtest.URL(t)
	cell, master := pgtest.Cell(t, url), filepath.Join(t.TempDir(), "master.key")
	door, client := archiveStorage(t)
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("events")}); err != nil {
		t.Fatal(err)
	}
	door.plan(afterWrite)
	var servers []*node.Process
	for range 2 {
		servers = append(servers, node.Start(t, "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--master-key-file", master, "--store", url, "--cell", cell,
			"--events-archive", "s3://events/games", "--events-archive-every", "1s"))
	}
	locate := func(at *node.Process, name string) {
		t.Helper()
		if _, err := node.Client(at.URL).CreateLocation(t.Context(), &gamelift.CreateLocationInput{LocationName: &name}); err != nil {
			t.Fatal(err)
		}
	}
	locate(servers[0], "custom-first")
	wait.Done(t, "the owner to store something", door.reached)
	locate(servers[0], "custom-second")
	servers[0].Kill()
	door.killed <- struct{}{}
	locate(servers[1], "custom-third") // waits for the takeover
	door.complete(t, client, servers[1], 3)
}

// complete waits until the archive has what a server's stream of events has, of which there are
// at least a few, and compares them once none came while it read the archive.
func (d *archiveDoor) complete(t *testing.T, client *s3.Client, p *node.Process, least int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		want, got := streamed(t, p.URL), archivedEvents(t, client)
		if len(got) >= len(want) && len(want) >= least && len(streamed(t, p.URL)) == len(want) {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the archive has (-want +got):\n%s", diff)
			}
			out, err := exec.Command(node.Path(t), "events", "--archive", "s3://events/games", "-o", "json").CombinedOutput()
			if diff := cmp.Diff(want, strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")); err != nil || diff != "" {
				t.Errorf("the command reads (-want +got): %v\n%s", err, diff)
			}
			return
		}
		select {
		case <-d.stored:
		case <-time.After(time.Until(deadline)):
			t.Fatalf("the archive has %d of %d events, which should be at least %d:\n%s", len(got), len(want), least, p.Log())
		}
	}
}

// archiveStorage starts a server whose S3 subset stores objects, and has AWS's tools use it
// through a door, which it returns with a client of the server itself.
func archiveStorage(t *testing.T) (*archiveDoor, *s3.Client) {
	t.Helper()
	storage := node.Start(t, "--listen", "127.0.0.1:0", "--data", t.TempDir())
	door := newArchiveDoor(t, storage.URL)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_S3": door.URL, "AWS_ACCESS_KEY_ID": "archive", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "eu-central-1",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
	} {
		t.Setenv(name, value)
	}
	c, err := config.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client := s3.NewFromConfig(c, func(o *s3.Options) {
		o.BaseEndpoint, o.UsePathStyle, o.ResponseChecksumValidation = &storage.URL, true, aws.ResponseChecksumValidationWhenRequired
	})
	return door, client
}

// streamed returns the lines of a server's stream of events.
func streamed(t *testing.T, at string) (all []string) {
	t.Helper()
	answer, err := http.Get(at + "/console/api/events?last=100000")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		all = append(all, lines.Text())
	}
	return all
}

// archivedEvents returns the lines of all objects of the archive, in the order of their names.
func archivedEvents(t *testing.T, client *s3.Client) (all []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	list, err := client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: aws.String("events"), Prefix: aws.String("games/us-east-1/")})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list.Contents {
		object, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String("events"), Key: o.Key})
		if err != nil {
			t.Fatal(err)
		}
		unzipped, err := gzip.NewReader(object.Body)
		if err != nil {
			t.Fatalf("%s: %v", *o.Key, err)
		}
		for lines := bufio.NewScanner(unzipped); lines.Scan(); {
			all = append(all, lines.Text())
		}
		if err := object.Body.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
