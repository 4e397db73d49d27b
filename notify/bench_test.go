package notify_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqlite"
	"github.com/musterhq/muster/notify"
)

// One operation is one notice, from the log in SQLite to a receiver on loopback that
// answers immediately, including the moves of the cursor.
func BenchmarkDeliver(b *testing.B) {
	for _, inFlight := range []int{1, 8} {
		b.Run(fmt.Sprintf("in_flight=%d", inFlight), func(b *testing.B) {
			arrived := make(chan struct{}, 1024)
			receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived <- struct{}{} }))
			defer receiver.Close()
			sink := webhook("a")
			sink.URL, sink.InFlight, sink.Secrets = receiver.URL, inFlight, []string{"secret"}
			h := newHouse(b, sqlite.New(b.TempDir()), notify.Options{Sinks: []notify.SinkConfig{sink}})
			defer h.close()
			b.ResetTimer()
			go func() {
				if err := sayAll(b, h); err != nil {
					b.Error(err)
				}
			}()
			for range b.N {
				<-arrived
			}
		})
	}
}

// sayAll commits b.N notices, 100 per transaction.
func sayAll(b *testing.B, h *house) error {
	for said := 0; said < b.N; said += 100 {
		err := h.st.Update(b.Context(), func(tx *store.Tx) error {
			for i := range min(100, b.N-said) {
				n := placed(fmt.Sprintf("p-%d", said+i), topic)
				h.events.Append(tx, event.Event{Code: event.PlacementFulfilled, Notice: &n})
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
