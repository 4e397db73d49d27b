package instance

import (
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/state"
)

// Status is the state of an instance on its machine. The phase that is reported to
// Muster follows from it and from the stage of the installation.
type Status string

// The statuses of an instance.
const (
	Unnamed    Status = "UNNAMED"    // a former agent left it, and no known desired state names it
	Installing Status = "INSTALLING" // downloads, installs and checks the build
	Failed     Status = "FAILED"     // it cannot be installed; waits for another desired state or build key
	Broken     Status = "BROKEN"     // the processes of a former agent cannot be taken over; waits for its end
	Running    Status = "RUNNING"    // keeps the processes of the runtime configuration running
	Draining   Status = "DRAINING"   // launches nothing more, and waits for its processes to end
	Stopping   Status = "STOPPING"   // ends everything
	Gone       Status = "GONE"       // only its logs are left
)

// Moves lists each allowed change of an instance's status and what causes it.
var Moves = state.Machine[Status]{
	{"", Installing}:       "assigned",
	{"", Unnamed}:          "a former agent left it, and no stored desired state names it",
	{"", Broken}:           "a former agent left it, and it cannot be taken over",
	{"", Draining}:         "a former agent left it to be drained",
	{"", Stopping}:         "a former agent left it to be ended",
	{Unnamed, Installing}:  "Muster names it",
	{Unnamed, Draining}:    "Muster drains it",
	{Unnamed, Stopping}:    "Muster ends it, or does not name it",
	{Installing, Running}:  "installed",
	{Installing, Failed}:   "no usable build, launch path, script or user",
	{Installing, Draining}: "Muster drains it",
	{Installing, Stopping}: "Muster ends it, or does not name it",
	{Failed, Installing}:   "another build, runtime configuration or build key",
	{Failed, Draining}:     "Muster drains it",
	{Failed, Stopping}:     "Muster ends it, or does not name it",
	{Broken, Draining}:     "Muster drains it",
	{Broken, Stopping}:     "Muster ends it, or does not name it",
	{Running, Draining}:    "Muster drains it",
	{Running, Stopping}:    "Muster ends it, or does not name it",
	{Draining, Stopping}:   "no process is left, the deadline is near, Muster ends it, or does not name it",
	{Stopping, Gone}:       "nothing runs",
}

// situation is what the next status depends on.
type situation struct {
	stop   protocol.Stop // desired
	named  bool          // a desired state names the instance
	broken bool          // it could not be taken over
	retry  bool          // another installation is desired than the one that failed
	empty  bool          // no process is left
	late   bool          // the drain's deadline is near
}

// next returns the status that follows in a situation, or s if none does. The ends of
// installing and stopping do not show in a situation; their jobs report them.
func (s Status) next(now situation) Status {
	switch {
	case s == Stopping || s == Gone:
		return s
	case now.stop == protocol.End, s == Draining && (now.empty || now.late):
		return Stopping
	case s == "" && now.broken:
		return Broken
	case s == Draining || now.stop == protocol.Drain:
		return Draining
	case s == "" && !now.named:
		return Unnamed
	case s == "", s == Unnamed && now.named, s == Failed && now.retry:
		return Installing
	}
	return s
}
