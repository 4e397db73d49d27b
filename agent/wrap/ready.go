package wrap

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Readiness says when the game session of a program becomes ACTIVE: once its port is bound, by
// UDP or TCP, unless a member says otherwise.
type Readiness struct {
	Line  *regexp.Regexp // when a line of its output matches; then its port does not count
	After time.Duration  // at the latest when it has run for so long; 0 means no such time
}

// unseen is after how long a program counts as ready whose port cannot be seen.
const unseen = time.Second

// Times between looks at the port: it is looked at often while a quick program starts, and
// seldom while a slow one does.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = 500 * time.Millisecond
)

// watch is what is waited for until a program is ready. The zero watch waits for nothing.
type watch struct {
	line  bool             // a line of its output
	look  <-chan time.Time // fires when its port is to be looked at
	every time.Duration    // the time between two looks
	after <-chan time.Time // fires when it has run for long enough
}

// await begins to wait for the program. taken reports that its port was bound before it was
// started.
func (w *wrapper) await(taken bool) {
	r := w.o.Ready
	w.watch = watch{line: r.Line != nil}
	if r.After > 0 {
		w.watch.after = time.After(r.After)
	}
	if r.Line != nil {
		return
	}
	_, known := listens("self", w.o.Port)
	if known && !taken && w.o.Port != 0 {
		w.watch.every = firstLook
		w.watch.look = time.After(firstLook)
		return
	}
	if taken {
		w.o.Log.Warn(fmt.Sprintf("Another program held port %d before this one was started, so that nobody can see when it is ready. "+
			"Let it have the port, or say how a line of its log says that it is ready (ready-line).", w.o.Port))
	}
	if r.After == 0 {
		w.watch.after = time.After(unseen)
	}
}

// opened looks at the program's port, and reports whether it is bound. If not, it is looked at again.
func (w *wrapper) opened() bool {
	if open, _ := listens(strconv.Itoa(w.cmd.Process.Pid), w.o.Port); open {
		return true
	}
	w.watch.every = min(2*w.watch.every, lastLook)
	w.watch.look = time.After(w.watch.every)
	return false
}

// checkReady names a program that players cannot reach.
func (w *wrapper) checkReady() {
	if w.manages || w.asked {
		return
	}
	if w.watch.line {
		w.o.Log.Warn(fmt.Sprintf("The program has run for %s, and no line of its output matches %q: until one does, its game session is not ACTIVE.", w.o.Opens, w.o.Ready.Line))
		return
	}
	if w.o.Port == 0 || w.o.Ready.Line != nil {
		return
	}
	if open, known := listens(strconv.Itoa(w.cmd.Process.Pid), w.o.Port); open || !known {
		return
	}
	w.o.Log.Warn(fmt.Sprintf("The program has run for %s and listens on no port %d, which is where players are sent%s. "+
		"Have it listen there: the number is in GAME_PORT, and {{.GamePort}} in its arguments stands for it. "+
		"If it is reached otherwise, say when it is ready: ready-line=REGEXP, or ready-after=TIME.", w.o.Opens, w.o.Port, w.waits()))
}

// waits says what a game session waits for, or nothing if it is ACTIVE.
func (w *wrapper) waits() string {
	if w.watch.look == nil {
		return ""
	}
	return "; until it does, its game session is not ACTIVE"
}
