package group

import (
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/state"
)

// Status is the state of a container group on its machine.
type Status string

// The statuses of a container group.
const (
	Unnamed  Status = "UNNAMED"  // a former agent left it, and no known desired state names its instance
	Pulling  Status = "PULLING"  // its images are fetched
	Starting Status = "STARTING" // its containers are created and started
	Running  Status = "RUNNING"  // its essential containers run
	Draining Status = "DRAINING" // it runs and is not started again; it ends by itself, or at a deadline
	Ending   Status = "ENDING"   // its containers are ended and removed
	Failed   Status = "FAILED"   // nothing runs; it is started again after a while
	Gone     Status = "GONE"     // nothing runs, and nothing is started
)

// Moves lists each allowed change of a container group's status and what causes it.
var Moves = state.Machine[Status]{
	{"", Unnamed}:       "a former agent left it, and no stored desired state names its instance",
	{"", Pulling}:       "assigned",
	{"", Running}:       "a former agent left it",
	{"", Draining}:      "a former agent left it to be drained",
	{"", Ending}:        "a former agent left it; it has ended, or should",
	{"", Gone}:          "assigned to be ended, and nothing runs",
	{Unnamed, Running}:  "Muster names it",
	{Unnamed, Draining}: "Muster drains it",
	{Unnamed, Ending}:   "it ended, or Muster ends it or does not name it",
	{Pulling, Starting}: "its images are here",
	{Pulling, Failed}:   "an image cannot be had",
	{Pulling, Gone}:     "Muster drains or ends it",
	{Starting, Running}: "its containers were started",
	{Starting, Failed}:  "a container could not be started",
	{Running, Draining}: "Muster drains it",
	{Running, Ending}:   "it ended, or Muster ends it or its process",
	{Draining, Running}: "Muster keeps it after all",
	{Draining, Ending}:  "it ended, the deadline is near, or Muster ends it or its process",
	{Ending, Pulling}:   "nothing runs, and it starts again at once",
	{Ending, Failed}:    "nothing runs, and it starts again after a pause",
	{Ending, Gone}:      "nothing runs, and nothing should",
	{Failed, Pulling}:   "its pause is over, or another version is desired",
	{Failed, Gone}:      "Muster drains or ends it",
	{Gone, Pulling}:     "Muster wants it again",
}

// situation is what the next status depends on.
type situation struct {
	stop  protocol.Stop // desired
	named bool          // a desired state names the instance
	runs  bool          // it has containers
	over  bool          // an essential container has ended, or its process should be killed
	late  bool          // the drain's deadline is near
	due   bool          // the pause after a failure is over, or another version is desired

	searched bool // the engine was asked for what a former agent left
}

// next returns the status that follows in a situation, or s if none does. The ends of
// pulling, starting and ending do not show in a situation; their jobs report them.
func (s Status) next(now situation) Status {
	if s == "" && !now.searched {
		return s
	}
	switch s {
	case "", Unnamed, Running, Draining:
		if now.runs {
			return s.living(now)
		}
		return s.idle(now)
	case Pulling, Failed, Gone:
		return s.idle(now)
	}
	return s // Starting and Ending end with their jobs
}

// living returns the next status of a group that has containers.
func (s Status) living(now situation) Status {
	switch {
	case now.over, now.stop == protocol.End, now.late && s == Draining:
		return Ending
	case now.stop == protocol.Drain:
		return Draining
	case !now.named && (s == "" || s == Unnamed):
		return Unnamed
	}
	return Running
}

// idle returns the next status of a group that has no containers.
func (s Status) idle(now situation) Status {
	switch {
	case now.stop != protocol.Keep, !now.named:
		return Gone
	case s == Failed && !now.due:
		return Failed
	}
	return Pulling
}
