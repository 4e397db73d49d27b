package instance_test

import (
	"testing"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/instance"
)

// Each failed run of a per-instance group is one event, also if the next one runs by the time
// of the report; a run of another version does not count.
func TestGroups_BesideFails(t *testing.T) {
	inQuay(t, func(q *quay) {
		h := q.dock()
		q.create(func(in *fleet.ContainerInput) { in.PerInstance = "beside:1" })
		q.work(h)
		a := q.assigned(h)[0]
		i := q.now(a)
		at := len(i.Groups) - 1
		name, arn := i.Groups[at].Name, "arn:aws:gamelift:us-east-1:000000000000:containergroupdefinition/"
		for n, r := range []struct {
			phase instance.GroupPhase
			code  event.Code
			run   instance.FailedRun
			want  int // events so far
		}{
			{instance.GroupRunning, "", instance.FailedRun{ID: "run-1", Version: arn + "beside:1", Cause: "exited with code 1"}, 1},
			{instance.GroupRunning, "", instance.FailedRun{ID: "run-1", Version: arn + "beside:1", Cause: "exited with code 1"}, 1},
			{instance.GroupFailed, event.InstanceGroupCrashed, instance.FailedRun{ID: "run-2", Version: arn + "beside:1", Cause: "exited with code 1"}, 2},
			{instance.GroupRunning, "", instance.FailedRun{ID: "run-2", Version: arn + "beside:1", Cause: "exited with code 1"}, 2},
			{instance.GroupFailed, event.InstanceGroupCrashed, instance.FailedRun{ID: "run-3", Version: arn + "beside:2", Cause: "exited with code 1"}, 2},
			{instance.GroupRunning, "", instance.FailedRun{}, 2},
			{instance.GroupFailed, event.FleetBinaryDownloadFailed, instance.FailedRun{}, 3}, // its image cannot be had
		} {
			q.report(h, instance.InstanceReport{InstanceID: a.ID, Phase: instance.Activating, Groups: []instance.GroupReport{
				{Name: name, Phase: r.phase, Code: r.code, Cause: "it has failed", Failed: r.run},
			}})
			if got := len(q.Recorded(event.InstanceGroupCrashed)); got != r.want {
				q.Errorf("after report %d there are %d events, want %d", n, got, r.want)
			}
		}
	})
}
