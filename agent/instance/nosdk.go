package instance

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/wrap"
)

// bare is what parameters say of a program that uses no SDK.
type bare struct {
	is      bool     // they say that it uses none
	options []string // flags of the wrapper that hosts it
}

// noSDK begins the parameters of a program that uses no SDK. Options of its wrapper may follow
// before the braces are closed: {{.NoSDK query=a2s stop-line=quit}}.
const noSDK = "{{.NoSDK"

// bareOptions are the options that parameters may have, which are flags of the wrapper, with what
// is wrong with a value.
var bareOptions = map[string]func(value string) error{
	"query":       func(value string) error { _, err := wrap.ParseQuery(value); return err },
	"rcon-port":   anything,
	"ready-after": duration,
	"ready-line":  func(value string) error { _, err := regexp.Compile(value); return err },
	"stop-line":   anything,
	"stop-rcon":   anything,
	"stop-within": duration,
}

func anything(string) error { return nil }

func duration(value string) error {
	_, err := time.ParseDuration(value)
	return err
}

// withoutSDK returns the parameters that are the program's, and what they say of its wrapper.
func withoutSDK(parameters string) (rest string, b bare, err error) {
	text, ok := strings.CutPrefix(strings.TrimSpace(parameters), noSDK)
	if !ok || text == "" || !strings.ContainsRune(" \t}", rune(text[0])) {
		return parameters, bare{}, nil
	}
	end := unquoted(text, "}}")
	if end < 0 {
		return "", bare{is: true}, fmt.Errorf("%s: its braces are not closed", noSDK)
	}
	words, err := split(text[:end])
	if err != nil {
		return "", bare{is: true}, fmt.Errorf("%s: %w", noSDK, err)
	}
	for n, word := range words {
		name, value, _ := strings.Cut(word, "=")
		check := bareOptions[name]
		if check == nil || value == "" {
			return "", bare{is: true}, fmt.Errorf("%s: %q is no option with a value; there are %s, as in ready-line=\"server is up\"",
				noSDK, word, strings.Join(slices.Sorted(maps.Keys(bareOptions)), ", "))
		}
		if err := check(value); err != nil {
			return "", bare{is: true}, fmt.Errorf("%s: %s: %w", noSDK, name, err)
		}
		words[n] = "--" + word
	}
	return text[end+len("}}"):], bare{true, words}, nil
}

// unquoted returns where a text first has another one that is not in quotes, or -1.
func unquoted(text, what string) int {
	quote := byte(0)
	for n := range len(text) {
		switch c := text[n]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case strings.HasPrefix(text[n:], what):
			return n
		}
	}
	return -1
}
