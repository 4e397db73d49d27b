package notify_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqlite"
	"github.com/musterhq/muster/notify"
)

// Environment variables of the process that is killed.
const (
	killDir = "MUSTER_TEST_NOTIFY_DIR"
	killURL = "MUSTER_TEST_NOTIFY_URL"
)

const killNotices = 1000

func TestMain(m *testing.M) {
	if dir := os.Getenv(killDir); dir != "" {
		fmt.Fprintln(os.Stderr, deliverUntilKilled(dir, os.Getenv(killURL)))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// deliverUntilKilled is the process that is killed; its first run creates the notices.
func deliverUntilKilled(dir, url string) error {
	st := store.New(store.Options{Driver: sqlite.New(dir)})
	events := event.New(st, event.Options{})
	sink := webhook("a")
	sink.URL = url
	svc, err := notify.New(st, events, notify.Options{Sinks: []notify.SinkConfig{sink}})
	if err != nil {
		return err
	}
	ctx := context.Background()
	if err := st.Open(ctx); err != nil {
		return err
	}
	if err := svc.Open(ctx); err != nil {
		return err
	}
	if events.Last(st.View()) == 0 {
		err := st.Update(ctx, func(tx *store.Tx) error {
			for _, n := range placements(killNotices) {
				events.Append(tx, event.Event{Code: event.PlacementFulfilled, Notice: &n})
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	svc.Run(ctx)
	return nil
}

// The process is killed repeatedly in the middle of its deliveries: everything arrives, in
// order, and at most one batch per kill arrives twice.
func TestKill(t *testing.T) {
	arrived := make(chan arrival, 10*killNotices)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.Header.Get("Muster-Sequence"))
		if err != nil {
			t.Errorf("sequence number: %v", err)
		}
		arrived <- arrival{r.URL.Path, n}
	}))
	defer receiver.Close()
	dir := t.TempDir()
	var runs [][]int
	for i, kill := range []int{130, 257, 401, killNotices} {
		path := fmt.Sprintf("/run-%d", i)
		runs = append(runs, runAndKill(t, dir, receiver.URL, path, arrived, kill))
	}
	var begins []int
	for i, run := range runs {
		begins = append(begins, run[0])
		for j := range run[1:] {
			if run[j+1] != run[j]+1 {
				t.Errorf("run %d: %d came after %d", i, run[j+1], run[j])
			}
		}
		if i > 0 {
			last := runs[i-1][len(runs[i-1])-1]
			if run[0] > last+1 || run[0] < last-100 {
				t.Errorf("run %d begins with %d after the one before ended with %d", i, run[0], last)
			}
		}
	}
	if last := runs[len(runs)-1]; last[len(last)-1] != killNotices || runs[0][0] != 1 {
		t.Errorf("delivered from %d to %d, want 1 to %d", runs[0][0], last[len(last)-1], killNotices)
	}
	t.Logf("the runs began with %v", begins)
	if cmp.Equal(begins, []int{1, 1, 1, 1}) {
		t.Error("no cursor survived a kill")
	}
}

// arrival is a notice that arrived in a run; a late one of an earlier run is ignored.
type arrival struct {
	path string
	seq  int
}

// runAndKill runs the process until number kill has arrived, kills it, and returns what
// arrived.
func runAndKill(t *testing.T, dir, url, path string, arrived <-chan arrival, kill int) []int {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), killDir+"="+dir, killURL+"="+url+path)
	cmd.Stderr = t.Output()
	must(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var got []int
	for len(got) == 0 || got[len(got)-1] != kill {
		select {
		case a := <-arrived:
			if a.path == path {
				got = append(got, a.seq)
			}
		case err := <-ended:
			t.Fatalf("the process ended by itself after %d deliveries: %v", len(got), err)
		}
	}
	must(t, cmd.Process.Kill())
	<-ended
	for { // whatever else was answered
		select {
		case a := <-arrived:
			if a.path == path {
				got = append(got, a.seq)
			}
		default:
			return got
		}
	}
}
