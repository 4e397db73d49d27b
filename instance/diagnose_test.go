package instance

import (
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
)

func TestDiagnose(t *testing.T) {
	for name, c := range map[string]struct {
		exit   ExitReport
		status compute.Status
		code   event.Code
		says   []string
		not    string
	}{
		"crash while it hosts": {ExitReport{Known: true, Code: -1, Signal: "segmentation fault", Tail: []string{"a", "b"}}, compute.Active,
			event.ServerProcessCrashed, []string{"signal segmentation fault", "a | b"}, "InitSDK"},
		"its host's own words come first": {ExitReport{Known: true, Code: 127, Cause: "libfoo.so is missing: cannot open libfoo.so", Tail: []string{"cannot open libfoo.so"}}, "",
			event.ServerProcessCrashed, []string{"libfoo.so is missing", "had not called InitSDK"}, "last lines"},
		"a stack trace": {ExitReport{Known: true, Code: 2, Cause: `exited with code 2 1s after its start: "panic: no map"`, Tail: []string{"panic: no map", "", "goroutine 1 [running]:", "main.main()", "\t/a.go:3 +0x1d"}}, "",
			event.ServerProcessCrashed, []string{`"panic: no map"; it had not called InitSDK`}, "last lines"},
		"never connected, ended by itself": {ExitReport{Known: true}, "", event.ServerProcessCrashed, []string{"exited with code 0", "never connected"}, "ProcessEnding"},
		"before ProcessReady":              {ExitReport{Known: true, Code: 3}, compute.Initialized, event.ServerProcessCrashed, []string{"exited with code 3", "not ProcessReady"}, ""},
		"clean exit without ProcessEnding": {ExitReport{Known: true}, compute.Active, event.ServerProcessCrashed, []string{"did not call ProcessEnding"}, ""},
		"ProcessEnding in an outage":       {ExitReport{Known: true, ProcessEnding: true}, compute.Active, event.ProcessEnded, []string{"called ProcessEnding"}, "exited"},
		"out of memory":                    {ExitReport{Known: true, Code: -1, Signal: "killed", OOM: true}, compute.Active, event.ServerProcessCrashed, []string{"out of memory"}, "signal"},
		"nobody watched":                   {ExitReport{}, compute.Active, event.ServerProcessCrashed, []string{"no agent watched"}, "code 0"},
		"told to go":                       {ExitReport{Known: true, Code: 1, Reason: event.ServerProcessForceTerminated}, compute.Terminating, event.ProcessEnded, []string{"code 1"}, ""},
		"missing executable":               {ExitReport{Known: true, Code: -1, Reason: event.ServerProcessInvalidPath, Cause: "arena does not exist"}, "", event.ServerProcessInvalidPath, []string{"arena does not exist"}, "InitSDK"},
		"init timeout":                     {ExitReport{Known: true, Code: -1, Signal: "killed", Reason: event.ServerProcessSDKInitTimeout}, "", event.ServerProcessSDKInitTimeout, []string{"within 5m0s", "never connected"}, ""},
		"escapes of a hostile process": {ExitReport{Known: true, Code: 3, Cause: "bad\x1b[2J", Tail: []string{"\x1b]0;title\a", "a\r\n  1 00:00:00.000  ACCESS_KEY_DELETED"}}, compute.Active,
			event.ServerProcessCrashed, []string{`bad\u001b[2J`, `\u001b]0;title\u0007`, `a\u000d\u000a  1 00`}, "\x1b"},
		"a hostile host's words": {ExitReport{Known: true, Reason: "X\x1b[2J"}, compute.Active, `X\u001b[2J`, nil, "\x1b"},
		"bounded":                {ExitReport{Known: true, Cause: strings.Repeat("ä", 5000)}, compute.Active, event.ServerProcessCrashed, []string{"…"}, "�"},
	} {
		code, text := diagnose(c.exit, c.status, 5*time.Minute)
		if code != c.code {
			t.Errorf("%s: %s, want %s", name, code, c.code)
		}
		for _, says := range c.says {
			if !strings.Contains(text, says) {
				t.Errorf("%s: %q does not say %q", name, text, says)
			}
		}
		if c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%s: %q says %q", name, text, c.not)
		}
		if len(text) > longestDiagnosis+len("…") {
			t.Errorf("%s: %d bytes", name, len(text))
		}
	}
}
