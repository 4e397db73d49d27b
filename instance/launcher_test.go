package instance_test

import (
	"testing"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/store"
)

// keeper owns the processes whose ids it holds, and records which it is to end.
type keeper struct {
	runs  map[string]bool
	ended map[string]event.Code
}

func (k *keeper) Owns(ref compute.Ref) bool             { return k.runs[ref.ProcessID] }
func (k *keeper) Ended(ref compute.Ref, why event.Code) { k.ended[ref.ProcessID] = why }

// A process that its host kills keeps its socket until then; otherwise it could see
// the socket close first and exit by itself. One that no host of ours runs, or whose
// host is away, learns of its end only when its socket closes.
func TestEnd_KilledBeforeItsSocketEnds(t *testing.T) {
	in(t, instance.Options{}, func(y *yard) {
		k := &keeper{runs: map[string]bool{"ours": true}, ended: map[string]event.Code{}}
		y.Instances.AddLauncher(k)
		h := y.host()
		y.managed("")
		on := y.assigned(h)[0].ID
		for id, dropped := range map[string]int{"ours": 0, "foreign": 1} {
			key := y.run(h, on, id).Key()
			y.Update(func(tx *store.Tx) { y.Computes.Kill(tx, key, event.ServerProcessForceTerminated, "") })
			if k.ended[id] != event.ServerProcessForceTerminated || y.links[id].Dropped != dropped {
				y.Errorf("%s: the host was told %q, the socket dropped %d times, want %d", id, k.ended[id], y.links[id].Dropped, dropped)
			}
		}
	})
}
