package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// End describes how a process ended.
type End struct {
	Known    bool          // false: nothing watched it
	Code     int           // exit code, unless a signal ended it
	Signal   string        // SIGSEGV, …
	OOM      bool          // it exceeded its memory limit
	LimitMiB int           // that limit, 0 if unknown
	Lived    time.Duration // time since its start
	Tail     []string      // last lines on its standard error, as many as there may be in a stack trace
	Said     []string      // last lines on its standard output
	Port     int           // its port, 0 if none
	Asked    string        // why it was told to end, "" if it was not
}

// maxQuote limits the length of a quoted line of the program's output, in bytes.
const maxQuote = 300

// Exit explains an end in one sentence, without a final period.
func Exit(e End) string {
	how := e.how()
	if e.Asked != "" {
		return how + " after it was told to: " + e.Asked
	}
	how += " " + lived(e.Lived) + " after its start"
	for _, lines := range [][]string{e.Tail, e.Said} {
		if why := e.why(lines); why != "" {
			return how + ": " + why
		}
	}
	if at := telling(e.Tail); at >= 0 {
		return how + "; its last words on stderr: " + quote(e.Tail[at])
	}
	if at := telling(e.Said); at >= 0 {
		return how + "; its last words on stdout: " + quote(e.Said[at])
	}
	return how + ", and wrote nothing to stderr"
}

func (e End) how() string {
	switch {
	case !e.Known:
		return "ended while nobody watched"
	case e.OOM && e.LimitMiB > 0:
		return fmt.Sprintf("was killed for want of memory (its limit is %d MiB)", e.LimitMiB)
	case e.OOM:
		return "was killed for want of memory"
	case e.Signal != "":
		return "was ended by signal " + e.Signal + meaning[e.Signal]
	}
	return fmt.Sprintf("exited with code %d", e.Code)
}

var meaning = map[string]string{
	"SIGSEGV": " (it touched memory that is not its own)",
	"SIGBUS":  " (it touched memory that is not there)",
	"SIGABRT": " (it gave up by itself: abort, or a failed assertion)",
	"SIGILL":  " (an instruction that this processor does not know)",
	"SIGFPE":  " (a forbidden calculation, such as a division by zero)",
	"SIGKILL": " (killed, as by an operator or by the system when memory runs out)",
	"SIGSYS":  " (a system call that is forbidden here)",
}

// known are causes that programs print on stderr, the most specific first.
var known = []struct {
	pattern *regexp.Regexp
	cause   func(e End, found []string) string
}{
	{regexp.MustCompile(`error while loading shared libraries: ([^:\s]+): cannot open shared object file`),
		func(_ End, m []string) string {
			return "the shared library " + m[1] + " is missing on this machine; put it into the build or install it on the host"
		}},
	{regexp.MustCompile("version [`'\"]?(GLIBC(?:XX)?_[0-9.]+)['\"]? not found"),
		func(_ End, m []string) string {
			return "it needs " + m[1] + ", which is newer than this machine's C library; build it on an older system or renew the host"
		}},
	{regexp.MustCompile(`(?i)address (?:is )?already in use|EADDRINUSE|only one usage of each socket address`),
		func(e End, m []string) string {
			text := "a port that it wants is in use"
			if e.Port > 0 {
				text += fmt.Sprintf(" (it was given port %d, which was free: does it listen on another?)", e.Port)
			}
			return text
		}},
	{regexp.MustCompile(`(?i)cannot execute binary file|exec format error`),
		func(End, []string) string { return "it starts a program that is made for another kind of machine" }},
	{regexp.MustCompile(`(?m)^(?:\S+: )?(?:line \d+: )?(\S+): (?:command )?not found$`),
		func(_ End, m []string) string { return "it starts the program " + m[1] + ", which is missing" }},
	{regexp.MustCompile(`(?i)no space left on device|ENOSPC`),
		func(End, []string) string { return "the disk is full" }},
	{regexp.MustCompile(`(?i)too many open files|EMFILE`),
		func(End, []string) string { return "it has too many files or sockets open" }},
}

// why returns the cause that lines of its output name, or "".
func (e End) why(lines []string) string {
	text := strings.Join(Last(lines), "\n")
	for _, k := range known {
		if m := k.pattern.FindStringSubmatch(text); m != nil {
			return k.cause(e, m)
		}
	}
	if line, at := crash(lines); at >= 0 {
		return quote(line)
	}
	return ""
}

func lived(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// lastLines is how many lines Last returns.
const lastLines = 20

// Last returns the last lines of a tail. If the line that says what happened is before them, as it
// is with a long stack trace, it is the first.
func Last(tail []string) []string {
	from := max(0, len(tail)-lastLines)
	last := slices.Clone(tail[from:])
	_, at := crash(tail)
	if at < 0 {
		at = telling(tail)
	}
	if at >= 0 && at < from {
		last[0] = tail[at]
	}
	return last
}

// telling returns the index of the last line that is not of a stack trace and what follows one, or
// else of the last that is not blank; -1 if there is none.
func telling(tail []string) int {
	last := -1
	for at := len(tail) - 1; at >= 0; at-- {
		line := strings.TrimRight(tail[at], " \t\r")
		if line == "" {
			continue
		}
		last = max(last, at)
		if place.MatchString(line) { // the function of a frame is on the line before
			at--
			continue
		}
		if !trace.MatchString(line) {
			return at
		}
	}
	return last
}

var (
	// place is the second line of a frame in a stack trace of Go.
	place = regexp.MustCompile(`^\t\S.*:[0-9]+(?: \+0x[0-9a-f]+)?$`)
	// trace are the other lines of stack traces, registers, and what is written after them.
	trace = regexp.MustCompile(`^(?:goroutine [0-9]+.*\[.*\]:|\[signal .*\]|\.\.\..* frames elided\.\.\.|\s+at:? .*|#[0-9]+ .*|[a-z0-9]{2,6}\s+0x[0-9a-f]+|-+|exit status [0-9]+|Node\.js v[0-9.]+)$`)
)

func quote(line string) string {
	line = strings.TrimSpace(line)
	if len(line) > maxQuote {
		line = strings.ToValidUTF8(line[:maxQuote], "") + "…"
	}
	return `"` + line + `"`
}
