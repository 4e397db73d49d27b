package diagnose

import (
	"regexp"
	"strings"
)

// heads are the first lines of what runtimes print when a program crashes. The first group, if
// there is one, is what they say of the cause; else it is the whole line.
var heads = []*regexp.Regexp{
	regexp.MustCompile(`^Unhandled [Ee]xception[.:]?\s*(.*)$`),                            // .NET; Mono, whose cause is on the next line
	regexp.MustCompile(`^\[ERROR\] FATAL UNHANDLED EXCEPTION: (.*)$`),                     // Mono
	regexp.MustCompile(`^Exception in thread "[^"]*" (.*)$`),                              // Java
	regexp.MustCompile(`^(?:panic|fatal error): .*$`),                                     // Go
	regexp.MustCompile(`^terminate called .*$`),                                           // C++
	regexp.MustCompile(`^.*\b[Aa]ssertion\b.*\bfailed\b.*$`),                              // C, C++
	regexp.MustCompile(`^(?:\S+: )?Assertion failed: .*$`),                                // C, Unreal
	regexp.MustCompile(`^(?:\[[^\]]*\])*\s*(?:Log\w+: )?(?:Error: )?(Fatal error: .*)$`),  // Unreal
	regexp.MustCompile(`^(?:lua\S*|love|luajit): (.*)$`),                                  // Lua
	regexp.MustCompile(`^thread '[^']*'(?: \(\d+\))? panicked at .*$`),                    // Rust
	regexp.MustCompile(`^(?:Uncaught )?((?:\w+\.)*\w*(?:Error|Exception)(?:: .*)?)$`),     // Node.js, Python
	regexp.MustCompile(`^(?:.*[\s\[|:])?(?:FATAL|CRITICAL|Fatal|PANIC)(?:[\s\]|:=].*)?$`), // logs
}

// deeper introduces the cause of an exception below it.
var deeper = regexp.MustCompile(`^\s*(?:Caused by: |-+> ?)(.*?)\s*$`)

// maxAfter is how many lines that are of no stack trace may follow the line that says why a program
// crashed. After more of them it has gone on.
const maxAfter = 12

// crash returns the line that says why the program crashed, put together from several where the
// runtime has several, and its index in the tail; -1 if there is none.
func crash(tail []string) (line string, at int) {
	after := 0
	for at := len(tail) - 1; at >= 0 && after <= maxAfter; at-- {
		text := strings.TrimRight(tail[at], " \t\r")
		for _, head := range heads {
			if m := head.FindStringSubmatch(text); m != nil {
				return cause(m, tail, at), at
			}
		}
		if place.MatchString(text) { // the function of a frame is on the line before
			at--
			continue
		}
		if text != "" && text[0] != ' ' && text[0] != '\t' && !trace.MatchString(text) && !deeper.MatchString(text) {
			after++
		}
	}
	return "", -1
}

// cause returns what a head says, and the deepest cause that the lines after it name.
func cause(head, tail []string, at int) string {
	text := head[len(head)-1]
	if text == "" && at+1 < len(tail) { // Mono
		at++
		text = strings.TrimSpace(tail[at])
	}
	if outer, inner, ok := cutLast(text, " ---> "); ok { // .NET
		return inner + ", which became " + first(outer)
	}
	if at+1 < len(tail) && strings.HasPrefix(strings.TrimSpace(tail[at+1]), "what():") { // C++
		return text + tail[at+1]
	}
	if at+1 < len(tail) && strings.HasPrefix(text, "thread '") { // Rust
		return text + " " + strings.TrimSpace(tail[at+1])
	}
	inner := ""
	for _, line := range tail[at+1:] {
		if m := deeper.FindStringSubmatch(line); m != nil {
			inner = m[1]
		}
	}
	if inner != "" {
		return inner + ", which became " + first(text)
	}
	return text
}

// cutLast cuts text around the last separator.
func cutLast(text, sep string) (before, after string, ok bool) {
	at := strings.LastIndex(text, sep)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(sep):], true
}

// first returns the class of the outermost exception.
func first(text string) string {
	class, _, _ := strings.Cut(text, ":")
	return class
}
