package instance

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/musterhq/muster/hosts/protocol"
)

// placeholders are the values that a process's parameters may refer to.
type placeholders struct {
	port      int
	named     map[string]int // its other ports, by name
	processID string
	logDir    string
	index     int
}

var token = regexp.MustCompile(`\{\{\s*\.?((?:Port\.)?[A-Za-z0-9]+)\s*\}\}|\{port\}`)

// expand splits launch parameters into arguments at white space, respecting single and
// double quotes, and replaces {{.GamePort}}, {{.ProcessId}}, {{.LogDirectory}},
// {{.FleetId}}, {{.Location}}, {{.Index}} and {{.Port.NAME}} with their values; {port} is short
// for the first. AWS's agent splits at single spaces and has no quotes, with the same result
// for all parameters that make sense there.
//
// If lenient is set, unknown names are left unchanged: the wrapper of a program without
// an SDK replaces them, since it knows the game session.
func expand(parameters string, lenient bool, w protocol.Desired, p placeholders) ([]string, error) {
	words, err := split(parameters)
	if err != nil {
		return nil, err
	}
	values := map[string]string{
		"GamePort": strconv.Itoa(p.port), "ProcessId": p.processID, "LogDirectory": p.logDir,
		"FleetId": w.FleetID, "Location": w.Location, "Index": strconv.Itoa(p.index),
	}
	for name, port := range p.named {
		values["Port."+name] = strconv.Itoa(port)
	}
	for n, word := range words {
		words[n] = token.ReplaceAllStringFunc(word, func(found string) string {
			if found == "{port}" {
				return values["GamePort"]
			}
			name := token.FindStringSubmatch(found)[1]
			value, ok := values[name]
			if !ok && lenient {
				return found
			}
			if !ok {
				err = fmt.Errorf("%s stands for nothing; there are {{.GamePort}}, {{.ProcessId}}, {{.LogDirectory}}, {{.FleetId}}, {{.Location}}, {{.Index}} and {{.Port.NAME}}", found)
			}
			return value
		})
	}
	return words, err
}

// checkParameters returns an error if a process cannot be launched with parameters.
func checkParameters(parameters string, w protocol.Desired) error {
	rest, b, err := withoutSDK(parameters)
	if err != nil {
		return err
	}
	names, err := portNames(rest)
	if err != nil {
		return err
	}
	named := map[string]int{}
	for _, name := range names {
		named[name] = 0
	}
	_, err = expand(rest, b.is, w, placeholders{named: named})
	return err
}

func split(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, quote := false, rune(0)
	for _, c := range text {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case (c == '"' || c == '\'') && (!inWord || strings.HasSuffix(word.String(), "=")):
			quote, inWord = c, true
		case unicode.IsSpace(c):
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(c)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
