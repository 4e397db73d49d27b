package supervise

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"time"
)

// Spec is the program that a Group runs.
type Spec struct {
	Name string // in log lines; not empty
	Path string // of the program; absolute
	Dir  string // working directory, which must exist; default: the program's

	// Args returns a run's arguments after the program's name. It may be nil.
	Args func(slot int, id string) []string
	// Env returns a run's whole environment, as KEY=value; nothing of the
	// supervisor's own is passed on. It may be nil. MUSTER_RUN_ID is added.
	Env func(slot int, id string) []string
	// Launch starts a run's command. It may change the command first (arguments,
	// user, cgroup), except for the standard streams and Setsid. Default: the
	// command's Start.
	Launch func(cmd *exec.Cmd, slot int, id string) error

	LogDir   string // where runs write ID.stdout.log and ID.stderr.log; created if missing
	StateDir string // for this Group only: its records and its lock; created if missing

	LogBytes int64 // size at which a log is rotated to NAME.1; default 64 MiB
	KeepLogs int   // number of ended runs whose logs are kept; default 50, -1 keeps all
}

// Options configures a Group.
type Options struct {
	Spec    Spec
	Count   int           // copies to run, 0 to 10000
	NewID   func() string // returns an id never used before: 1 to 128 of A-Z a-z 0-9 - _
	Restart Restart
	Stagger time.Duration // between the first launches of slots; default 0
	May     func() bool   // reports whether a run may start now, called each second until it does; default: always
	Rotate  time.Duration // interval between checks of the logs' size; default 10 s
	Events  Events
	Log     *slog.Logger // default: slog.Default()
}

const maxCount = 10000

func (o Options) withDefaults() Options {
	o.Spec.Dir = cmp.Or(o.Spec.Dir, filepath.Dir(o.Spec.Path))
	o.Spec.LogBytes = cmp.Or(o.Spec.LogBytes, 64<<20)
	o.Spec.KeepLogs = cmp.Or(o.Spec.KeepLogs, 50)
	o.Rotate = cmp.Or(o.Rotate, 10*time.Second)
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

func (o Options) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(o.Spec.Name != "", "Spec.Name is empty")
	check(filepath.IsAbs(o.Spec.Path), "Spec.Path %q is not absolute", o.Spec.Path)
	check(o.Spec.LogDir != "", "Spec.LogDir is empty")
	check(o.Spec.StateDir != "", "Spec.StateDir is empty")
	check(o.Spec.LogBytes > 0, "Spec.LogBytes is %d, must be above 0", o.Spec.LogBytes)
	check(o.Count >= 0 && o.Count <= maxCount, "Count is %d, must be 0 to %d", o.Count, maxCount)
	check(o.NewID != nil, "NewID is nil")
	return errors.Join(errs...)
}

// Events are callbacks for what happens. Each field may be nil. They are called from
// the slot's goroutine, one at a time for a slot; the slot waits for them, so they
// should return soon, and they must not call Stop, Drain or Detach.
type Events struct {
	// Started is called after a run was launched or taken over from a former
	// supervisor.
	Started func(Run)
	// Exited is called after a run ended, even while no supervisor watched it. If a
	// supervisor is killed in between, its successor may call it again.
	Exited func(Run, Exit)
	// Failed is called if a run could not be started.
	Failed func(slot int, id string, err error)
	// Cut is called by Start, which waits for it, if a former supervisor died during
	// a launch before there was a process.
	Cut func(id string)
	// CrashLooping is called when a slot has crashed so often in a row that it is now
	// only probed.
	CrashLooping func(slot int, crashes int)
}

// Run is one execution of the program.
type Run struct {
	ID       string
	Slot     int
	PID      int       // also of its process group and session
	Started  time.Time // by the wall clock
	Attached bool      // taken over from a former supervisor
	Stdout   string    // path of its log
	Stderr   string    // path of its log
}
