package instance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/plain"
)

// tailLines is how many of a process's last lines a diagnosis quotes.
const tailLines = 5

// longestDiagnosis bounds a diagnosis in bytes.
const longestDiagnosis = 2000

// diagnose returns the fleet event that reports the end of a process: its host's
// description, and what only Muster knows, the status that the process had reached ("" if
// it never connected).
func diagnose(e ExitReport, status compute.Status, initTimeout time.Duration) (code event.Code, text string) {
	if e.ProcessEnding {
		return event.ProcessEnded, compute.CalledProcessEnding
	}
	code = exitCode(e, status)
	parts := []string{cmp.Or(plain.Text(e.Cause), exitText(e))}
	if far := howFar(e, status, code, initTimeout); far != "" {
		parts = append(parts, far)
	}
	if tail := quoted(e); tail != "" {
		parts = append(parts, tail)
	}
	return code, bounded(strings.Join(parts, "; "))
}

// exitCode returns the fleet event's code.
func exitCode(e ExitReport, status compute.Status) event.Code {
	switch {
	case status == compute.Terminating:
		return event.ProcessEnded // it was told to end, and did
	case e.Reason != "":
		return event.Code(plain.Line(string(e.Reason)))
	}
	return event.ServerProcessCrashed
}

// exitText returns how the process ended, for a report whose host does not say.
func exitText(e ExitReport) string {
	switch {
	case !e.Known:
		return "the process ended while no agent watched it"
	case e.OOM:
		return "the process was out of memory"
	case e.Signal != "":
		return "the process was ended by signal " + plain.Line(e.Signal)
	}
	return fmt.Sprintf("the process exited with code %d", e.Code)
}

// howFar returns how far the process had come when it ended without being told to.
func howFar(e ExitReport, status compute.Status, code event.Code, initTimeout time.Duration) string {
	switch {
	case code == event.ServerProcessSDKInitTimeout:
		return neverConnected(initTimeout) + ": it started but never connected; it must call InitSDK with the GAMELIFT_SDK_ variables that it is given"
	case code != event.ServerProcessCrashed:
		return ""
	case status == "" && e.Known && e.Code == 0 && e.Signal == "":
		return "it started but never connected: it ended by itself before it called InitSDK"
	case status == "":
		return "it had not called InitSDK"
	case status == compute.Initialized:
		return "it had called InitSDK but not ProcessReady"
	case e.Known && e.Code == 0 && e.Signal == "":
		return "it did not call ProcessEnding"
	}
	return ""
}

// quoted returns the process's last lines, unless the host's description has the last of them, or
// quotes the one that says most: what follows is a stack trace then.
func quoted(e ExitReport) string {
	lines := e.Tail[max(0, len(e.Tail)-tailLines):]
	if len(lines) == 0 || strings.Contains(e.Cause, lines[len(lines)-1]) || slices.ContainsFunc(e.Tail, func(line string) bool {
		line = strings.TrimSpace(line)
		return line != "" && strings.Contains(e.Cause, `"`+line+`"`)
	}) {
		return ""
	}
	return "last lines on standard error: " + plain.Line(strings.Join(lines, " | "))
}

// bounded truncates a text to longestDiagnosis bytes, between characters.
func bounded(s string) string {
	if len(s) <= longestDiagnosis {
		return s
	}
	return strings.ToValidUTF8(s[:longestDiagnosis], "") + "…"
}
