package identity

import (
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// A guest who moves is not removed as idle for a time before the move, but is after it.
func TestRecords_GuestsCountAsUsed(t *testing.T) {
	t.Parallel()
	const keep = 10 * 24 * time.Hour
	inHouse(t, Options{GuestKeep: keep}, func(old *house) {
		guest := old.guest()
		settle(keep - time.Hour)
		records := slices.Collect(old.ids.Records.All(old.st.View()))
		next := newHouse(old.TB, Options{GuestKeep: keep})
		next.loops = true
		next.run(next.ids)
		found, err := next.ids.Records.Add(next.ctx, records)
		next.must(err)
		if found.New != 1 || len(found.Problems) != 0 {
			t.Fatalf("got %+v", found)
		}
		settle(keep - time.Hour)
		if found = next.ids.Records.Check(records); found.Same != 1 {
			t.Errorf("the guest is not as it was: %+v", found)
		}
		next.reopen()
		settle(2 * time.Hour)
		_, err = next.ids.Accounts.Get(guest.PlayerID)
		next.refused(err, NotFound)
		next.stop()
		next.must(next.st.Close())
	})
}

// Whatever a record says, it is refused whole, or is added and then here as it says.
func FuzzRecord(f *testing.F) {
	const id = "01a2092a-ca50-7000-bd0f-be570d9e4c46"
	for _, seed := range []string{
		`{"player":{"id":"` + id + `","created":"2026-01-02T03:04:05Z","display_name":"Anna"},"links":[{"provider":"steam","subject":"s1","player_id":"` + id + `","linked":"2026-01-02T03:04:05Z","last_login":"2026-01-02T03:04:05Z"}],"data":[{"player_id":"` + id + `","namespace":"secret","key":"k","value":"{\"a\":1}","version":3,"first":2,"updated":"2026-01-02T03:04:05Z"}]}`,
		`{"player":{"id":"` + id + `","created":"2026-01-02T03:04:05Z","guest_secret":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}}`,
		`{"player":{"id":"` + id + `","created":"2026-01-02T03:04:05Z","merged_into":"01a2092a-ca50-7000-bd0f-be570d9e4c47","purge":"2026-02-02T03:04:05Z"}}`,
		`{"player":null,"links":[null],"data":[null]}`,
	} {
		f.Add([]byte(seed))
	}
	h := newHouse(f, Options{GuestKeep: -1})
	f.Fuzz(func(t *testing.T, text []byte) {
		var one Record
		if json.Unmarshal(text, &one, json.RejectUnknownMembers(true)) != nil {
			return
		}
		before := h.ids.Records.Check([]*Record{&one})
		after, err := h.ids.Records.Add(h.ctx, []*Record{&one})
		if err != nil {
			t.Fatal(err)
		}
		if len(before.Problems) != len(after.Problems) || before.New != after.New {
			t.Fatalf("the check said %+v, the addition %+v", before, after)
		}
		if len(after.Problems) > 0 {
			return
		}
		if again := h.ids.Records.Check([]*Record{&one}); again.Same != 1 {
			t.Fatalf("it is not here as it says: %+v", again)
		}
	})
}
