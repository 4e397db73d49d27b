package group

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/hosts/protocol"
)

// left returns a run of a former agent, with its key at the discovery endpoint.
func (s *stage) left(g protocol.Group, key string) *actor {
	id := "process-" + g.Name
	if g.PerInstance {
		id = runWithoutGame + g.Name
	}
	a := &actor{s: s, ended: make(chan struct{}), launch: Launch{Group: g, Labels: Labels{
		InstanceID: s.desired.InstanceID, Group: g.Name, Definition: g.Definition, ProcessID: id, Started: time.Now(),
	}}}
	s.runs[id] = a
	h := homeOf(s.machine.Root, s.desired.InstanceID)
	if err := h.make(); err != nil {
		s.Fatal(err)
	}
	if err := h.keepRun(g.Name, run{ProcessID: id, Key: key}); err != nil {
		s.Fatal(err)
	}
	return a
}

// Containers are answered with the running containers of their instance, under their own
// key, ten times a second, until their run has ended.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	log := slog.New(slog.DiscardHandler)
	d, err := ListenDiscovery(netip.MustParseAddr("127.0.0.1"), log)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	s.machine.Endpoints.Store(&Endpoints{Discovery: d})
	var left []Containers
	for _, g := range s.desired.Groups {
		left = append(left, s.left(g, "key-of-"+g.Name))
	}
	s.i = New(context.Background(), s.machine, Options{Desired: s.desired, Left: left, Searched: true})
	ran := make(chan struct{})
	go func() { defer close(ran); s.i.Run() }()
	defer s.close()

	get := func(method, url string) (int, string) {
		t.Helper()
		req, err := http.NewRequest(method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	url := d.URL("key-of-0")
	status, text := get(http.MethodGet, url+"/v1/")
	var all []map[string]string
	if err := json.Unmarshal([]byte(text), &all); err != nil || status != http.StatusOK || len(all) != 3 {
		t.Fatalf("%d %s: %v", status, text, err)
	}
	for n, want := range []string{"GAME_SERVER", "GAME_SERVER", "PER_INSTANCE"} {
		if c := all[n]; c["containerGroupType"] != want || !strings.HasPrefix(c["containerId"], "id-") || c["containerName"] == "" {
			t.Errorf("container %d is %v", n, c)
		}
	}
	if status, _ := get(http.MethodPost, url+"/v1/"); status != http.StatusMethodNotAllowed {
		t.Errorf("POST answers %d", status)
	}
	for _, path := range []string{url + "/v2/", d.URL("guess") + "/v1/", d.URL("") + "v1/"} {
		if status, _ := get(http.MethodGet, path); status != http.StatusNotFound {
			t.Errorf("%s answers %d", path, status)
		}
	}
	throttled := false
	for range 1000 * perSecond {
		if status, _ := get(http.MethodGet, url+"/v1/"); status == http.StatusTooManyRequests {
			throttled = true
			break
		}
	}
	if !throttled {
		t.Error("nothing is refused however often one asks")
	}
	s.i.Stop(context.Background(), 0)
	<-ran
	if status, _ := get(http.MethodGet, d.URL("key-of-1")+"/v1/"); status != http.StatusNotFound {
		t.Errorf("after the end of the run it answers %d", status)
	}
}
