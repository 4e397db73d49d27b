package fleetiq

import (
	"fmt"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// lostCommits marks every game server that may have been claimed, or have become UTILIZED, in
// a commit that the database lost. It cannot be claimed until somebody says that it is
// AVAILABLE, or registers it anew. Nothing is in doubt if the owner that had committed what was
// lost has written it again.
func (s *Service) lostCommits(tx *store.Tx, lost store.LostCommits) {
	if lost.Restored {
		return
	}
	n := 0
	for v := range s.Servers.t.servers.All(tx) {
		if v.Utilization != Available {
			continue
		}
		doubtful := *v
		doubtful.Doubt = true
		s.Servers.put(tx, &doubtful)
		n++
	}
	if n > 0 {
		s.Servers.Events.Append(tx, event.Event{Code: event.CommitsLost, Message: fmt.Sprintf("%d game servers of game server groups cannot be claimed until they are updated with UtilizationStatus AVAILABLE, or registered anew: the database may have lost that they are used", n)})
	}
}
