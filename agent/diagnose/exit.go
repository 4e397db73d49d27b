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
	Tail     []string      // last lines on its standard error
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
	if why := e.why(); why != "" {
		return how + ": " + why
	}
	if line := lastLine(e.Tail); line != "" {
		return how + "; its last words on stderr: " + line
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
	{regexp.MustCompile(`(?m)^(?:Unhandled exception|Unhandled Exception|panic|fatal error|terminate called|Assertion|\S+: Assertion).*$`),
		func(_ End, m []string) string { return quote(m[0]) }},
}

func (e End) why() string {
	text := strings.Join(e.Tail, "\n")
	for _, k := range known {
		if m := k.pattern.FindStringSubmatch(text); m != nil {
			return k.cause(e, m)
		}
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

func lastLine(tail []string) string {
	for _, line := range slices.Backward(tail) {
		if line = strings.TrimSpace(line); line != "" {
			return quote(line)
		}
	}
	return ""
}

func quote(line string) string {
	line = strings.TrimSpace(line)
	if len(line) > maxQuote {
		line = strings.ToValidUTF8(line[:maxQuote], "") + "…"
	}
	return `"` + line + `"`
}
