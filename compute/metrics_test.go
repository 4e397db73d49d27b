package compute_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

// Each end of a process is counted once, by its first published cause. Codes that are not of the
// end of a process, which hosts may report, share a series, and a fleet that is deleted has none.
func TestMetrics_Ends(t *testing.T) {
	registry := prometheus.NewRegistry()
	in(t, compute.Options{Registerer: registry}, func(y *yard) {
		got := func(code event.Code) float64 {
			t.Helper()
			families, err := registry.Gather()
			y.Must(err)
			for _, f := range families {
				for _, m := range f.GetMetric() {
					labels := map[string]string{}
					for _, l := range m.GetLabel() {
						labels[l.GetName()] = l.GetValue()
					}
					if labels["code"] == string(code) && labels["location"] == home && labels["fleet_id"] == y.fleet.ID && labels["fleet_name"] == y.fleet.Name {
						return m.GetCounter().GetValue()
					}
				}
			}
			return -1
		}
		if n := got(event.ServerProcessCrashed); n != 0 {
			y.Errorf("before the first crash the counter is %v, want 0", n)
		}
		for _, id := range []string{"crashed", "ended", "ill", "told", "invented-1", "invented-2"} {
			y.free(id)
		}
		for range 2 {
			y.Must(y.Computes.Exited(y.Ctx, y.ref("crashed"), "killed"))
		}
		y.Must(y.Computes.End(y.Ctx, y.ref("ended")))
		y.Must(y.Computes.Unhealthy(y.Ctx, y.ref("ill"), "ill"))
		y.Update(func(tx *store.Tx) {
			y.Computes.Terminate(tx, y.ref("told").Key(), event.GameSessionTerminating, "")
			for i := 1; i <= 2; i++ {
				y.Computes.Kill(tx, y.ref(fmt.Sprint("invented-", i)).Key(), event.Code(fmt.Sprint("CODE_", i)), "")
			}
		})
		y.Must(y.Computes.Exited(y.Ctx, y.ref("told"), ""))
		wait.Settle(ill)
		for code, want := range map[event.Code]float64{
			event.ServerProcessCrashed: 1, event.ProcessEnded: 2, event.ServerProcessUnhealthy: 1,
			event.ServerProcessForceTerminated: 0, "other": 2, "CODE_1": -1,
		} {
			if n := got(code); n != want {
				y.Errorf("%s: %v ends are counted, want %v", code, n, want)
			}
		}
		if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
			y.Errorf("%v, %v", problems, err)
		}
		y.Must(y.Fleets.Delete.Do(y.Ctx, y.fleet.ID))
		wait.Settle(stop)
		families, err := registry.Gather()
		y.Must(err)
		if all := fmt.Sprint(families); y.Fleets.Get(y.Store.View(), y.fleet.ID) != nil || strings.Contains(all, y.fleet.ID) {
			y.Errorf("after the fleet was deleted there is %s", all)
		}
	})
}
