package compute

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// Loss records that the database lost commits, so that nobody knows what happened between
// the last commit that it still has and the moment it was found out.
type Loss struct {
	ID        string    `json:"id"`   // sorts by time
	Salt      string    `json:"salt"` // makes ids differ from those that were given before
	Time      time.Time `json:"time"`
	Found     uint64    `json:"found"`     // the last sequence that was left
	Confirmed uint64    `json:"confirmed"` // the last one known to have been confirmed
}

// mostLosses limits the losses that are kept.
const mostLosses = 16

// losses holds the times at which the database lost commits.
type losses struct {
	st    *store.Store
	table *store.Table[Loss]
}

func newLosses(st *store.Store) *losses {
	return &losses{st, store.NewTable(st, store.TableSpec[Loss]{Name: "lost_commits", Key: func(l *Loss) string { return l.ID }})}
}

// Losses returns the times at which the database lost commits, the earliest first.
func (ls *losses) Losses(r store.Reader) iter.Seq[*Loss] { return ls.table.All(r) }

// latest returns the last loss, or nil.
func (ls *losses) latest(r store.Reader) (last *Loss) {
	for l := range ls.table.All(r) {
		last = l
	}
	return last
}

// add records a loss. The salt is random, so that it differs from that of a loss which was
// lost itself.
func (ls *losses) add(tx *store.Tx, lost store.LostCommits) {
	if ls.table.Len(tx) >= mostLosses {
		for oldest := range ls.table.All(tx) {
			ls.table.Delete(tx, oldest.ID)
			break
		}
	}
	ls.table.Put(tx, &Loss{ID: tx.ID(""), Salt: fmt.Sprintf("%08x", tx.Rand().Uint32()), Time: tx.Now(), Found: lost.Found, Confirmed: lost.Confirmed})
}

// lostCommits marks every process that may host a game session of which the database lost
// the record. It gets no game session until it is known to host none. Nothing is in doubt if
// the owner that had committed what was lost has written it again.
func (s *Service) lostCommits(tx *store.Tx, lost store.LostCommits) {
	text := fmt.Sprintf("the database lost commits %d to %d, which it had confirmed", lost.Found+1, lost.Confirmed)
	if lost.Restored {
		s.processes.events.Append(tx, event.Event{Code: event.CommitsLost, Message: text + "; the owner has written them again, except events and what had been archived since"})
		return
	}
	s.losses.add(tx, lost)
	n := 0
	for p := range s.Processes(tx, "", "") {
		if p.GameSessionID == "" && p.Status != Terminating {
			s.doubt(tx, p)
			n++
		}
	}
	s.processes.events.Append(tx, event.Event{Code: event.CommitsLost, Message: fmt.Sprintf("%s; %d game server processes get no game session until they are known to host none", text, n)})
}

func (ps *processes) doubt(tx *store.Tx, old *Process) {
	p := *old
	p.Doubt, p.ReadyBy = true, time.Time{} // it may have become ready, and have players
	ps.put(tx, &p)
}

// inDoubt reports whether a process that the store does not know may have been known before
// the database lost commits: it connects as soon after that as such processes do.
func (ps *processes) inDoubt(tx *store.Tx) bool {
	last := ps.losses.latest(tx)
	return last != nil && tx.Now().Before(last.Time.Add(ps.opts.RestartGrace))
}

// settle applies what a process in doubt hosts according to its host's agent, which knows
// only of processes that have been ready. The process ends if it was ready before the commit
// that said so was lost, since it will not say that again.
func (ps *processes) settle(tx *store.Tx, old *Process, hosts *string) {
	p := *old
	p.Doubt = false
	switch {
	case !old.Doubt || hosts == nil:
	case *hosts != "":
		ps.record(tx, event.ProcessReconnected, old, "it hosts game session "+strings.ToValidUTF8(*hosts, "")+", which the database lost")
	case p.Status == Initialized:
		ps.stop(tx, &p, stopArgs{why: event.ProcessTerminating, grace: ps.opts.UnhealthyGrace,
			text: "the database lost that the process is ready; it hosts no game session"})
	default:
		ps.put(tx, &p)
	}
}

// Doubtful returns the number of processes that get no game session because they may host one
// that the database lost.
func (t *taker) Doubtful(r store.Reader) int { return t.tally.Of(r, countDoubtful) }
