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

// Spec is the program that a Supervisor runs.
type Spec struct {
	Name string // in log lines; not empty
	Path string // of the program; absolute
	Dir  string // working directory, which must exist; default: the program's

	// Launch starts a run's command. It may change the command first (arguments,
	// environment, user, cgroup), except for the standard streams and Setsid. The
	// command's environment has MUSTER_RUN_ID and nothing of the supervisor's own.
	// Default: the command's Start.
	Launch func(cmd *exec.Cmd, id string) error

	LogDir   string // where runs write ID.stdout.log and ID.stderr.log; created if missing
	StateDir string // for this Supervisor only: its record and its lock; created if missing

	LogBytes int64 // size at which a log is rotated to NAME.1; default 64 MiB
	KeepLogs int   // number of ended runs whose logs are kept; default 50, -1 keeps all
}

// Options configures a Supervisor.
type Options struct {
	Spec    Spec
	Last    bool          // launches nothing: the run of a former supervisor is the last
	NewID   func() string // returns an id never used before: 1 to 128 of A-Z a-z 0-9 - _
	Restart Restart
	May     func() bool   // reports whether a run may start now, called each second until it does; default: always
	Rotate  time.Duration // interval between checks of the logs' size; default 10 s
	Events  Events
	Log     *slog.Logger // default: slog.Default()
}

func (o Options) withDefaults() Options {
	o.Spec.Dir = cmp.Or(o.Spec.Dir, filepath.Dir(o.Spec.Path))
	o.Spec.LogBytes = cmp.Or(o.Spec.LogBytes, 64<<20)
	o.Spec.KeepLogs = cmp.Or(o.Spec.KeepLogs, 50)
	o.Rotate = cmp.Or(o.Rotate, 10*time.Second)
	if o.Spec.Launch == nil {
		o.Spec.Launch = func(cmd *exec.Cmd, _ string) error { return cmd.Start() }
	}
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
	check(o.NewID != nil, "NewID is nil")
	return errors.Join(errs...)
}

// Events are callbacks for what happens. Each field may be nil. They are called one
// at a time; the supervisor waits for them, so they should return soon, and they must not
// call Stop, Drain or Detach.
type Events struct {
	// Started is called after a run was launched or taken over from a former
	// supervisor.
	Started func(Run)
	// Exited is called after a run ended, even while no supervisor watched it. If a
	// supervisor is killed in between, its successor may call it again.
	Exited func(Run, Exit)
	// Failed is called if a run could not be started.
	Failed func(id string, err error)
	// Cut is called by Start, which waits for it, if a former supervisor died during
	// a launch before there was a process.
	Cut func(id string)
	// CrashLooping is called when the program has crashed so often in a row that it is
	// now only probed.
	CrashLooping func(crashes int)
}

// Run is one execution of the program.
type Run struct {
	ID       string
	PID      int       // also of its process group and session
	Started  time.Time // by the wall clock
	Attached bool      // taken over from a former supervisor
	Stdout   string    // path of its log
	Stderr   string    // path of its log
}
