package filter

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ErrInvalid is wrapped by every error of this package.
var ErrInvalid = errors.New("invalid search expression")

// Op compares an attribute with a value.
type Op string

// The comparators. Strings and booleans have Eq and Ne only.
const (
	Eq Op = "="
	Ne Op = "<>"
	Lt Op = "<"
	Gt Op = ">"
	Le Op = "<="
	Ge Op = ">="
)

// maxLength is the longest expression, in bytes (API reference, NonZeroAndMaxString).
const maxLength = 1024

// Expr is a condition on game sessions. The zero Expr matches all.
type Expr struct {
	text  string
	loose bool // needs parentheses inside And and Not
	err   error
}

// Write returns the text of the expression. Errors: ErrInvalid for a comparator that
// the attribute does not have, a property key that cannot be searched, or a text of
// more than 1024 bytes.
func Write(e Expr) (string, error) {
	if e.err != nil {
		return "", e.err
	}
	if len(e.text) > maxLength {
		return "", fmt.Errorf("%w: it has %d bytes; at most %d are allowed", ErrInvalid, len(e.text), maxLength)
	}
	return e.text, nil
}

// String returns the text of an expression known to be valid. For an invalid one it
// returns "", which matches all: use Write if values come from players.
func (e Expr) String() string {
	text, _ := Write(e)
	return text
}

// Name compares the game session's name: Eq or Ne.
func Name(op Op, name string) Expr { return words("gameSessionName", op, name) }

// ID compares the game session's id, its ARN: Eq or Ne.
func ID(op Op, arn string) Expr { return words("gameSessionId", op, arn) }

// Property compares a game property, as a string: Eq or Ne. Neither matches sessions
// without the property. A key that contains a period, a space, a quote, a backslash,
// a parenthesis or a character of a comparator cannot be searched.
func Property(key string, op Op, value string) Expr {
	if key == "" || strings.ContainsAny(key, " .<>=!'\"\\()\t\r\n") {
		return failed("property key %q cannot be searched by", key)
	}
	return words("gameSessionProperties."+key, op, value)
}

// MaxPlayers compares the number of slots.
func MaxPlayers(op Op, n int) Expr { return number("maximumSessions", op, int64(n)) }

// Players compares the number of players that are connected or have a slot reserved.
func Players(op Op, n int) Expr { return number("playerSessionCount", op, int64(n)) }

// Created compares the time of creation, in milliseconds.
func Created(op Op, t time.Time) Expr { return number("creationTimeMillis", op, t.UnixMilli()) }

// HasRoom matches the sessions with a free slot, or those without.
func HasRoom(yes bool) Expr {
	return Expr{text: "hasAvailablePlayerSessions=" + strconv.FormatBool(yes)}
}

// And matches where all parts match; without parts, it matches all.
func And(parts ...Expr) Expr { return join(" AND ", parts) }

// Or matches where at least one part matches. Without parts, or with a part that
// matches all, it matches all.
func Or(parts ...Expr) Expr {
	for _, p := range parts {
		if p.text == "" && p.err == nil {
			return Expr{}
		}
	}
	e := join(" OR ", parts)
	e.loose = len(parts) > 1
	return e
}

// Not matches where e does not. The zero Expr cannot be negated.
func Not(e Expr) Expr {
	if e.err == nil && e.text == "" {
		return failed("Not of an expression that holds everywhere")
	}
	return Expr{text: "NOT (" + e.text + ")", err: e.err}
}

func join(word string, parts []Expr) Expr {
	var texts []string
	single := Expr{}
	for _, p := range parts {
		if p.err != nil {
			return p
		}
		if p.text == "" {
			continue
		}
		single = p
		text := p.text
		if p.loose {
			text = "(" + text + ")"
		}
		texts = append(texts, text)
	}
	if len(texts) <= 1 {
		return single
	}
	return Expr{text: strings.Join(texts, word)}
}

// quoting escapes a string so that it can stand between single quotes.
var quoting = strings.NewReplacer(`\`, `\\`, `'`, `\'`)

func words(attribute string, op Op, value string) Expr {
	if op != Eq && op != Ne {
		return failed("%s is a text: it has the comparators = and <>, and not %s", attribute, op)
	}
	return Expr{text: fmt.Sprintf("%s %s '%s'", attribute, op, quoting.Replace(value))}
}

func number(attribute string, op Op, value int64) Expr {
	switch op {
	case Eq, Ne, Lt, Gt, Le, Ge:
		return Expr{text: attribute + string(op) + strconv.FormatInt(value, 10)}
	}
	return failed("%q is no comparator", op)
}

func failed(format string, args ...any) Expr {
	return Expr{err: fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))}
}
