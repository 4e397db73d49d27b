package filter

import (
	"cmp"
	"strings"
	"time"
)

// Subject provides the facts about a game session that an expression can use. Only
// methods for facts in the expression are called, and only until its result is known.
type Subject interface {
	// GameSessionID returns the full ARN.
	GameSessionID() string
	// GameSessionName returns the session's Name, or "".
	GameSessionName() string
	// Property returns the value of a game property, and whether the session has it.
	Property(key string) (string, bool)
	// MaximumSessions returns MaximumPlayerSessionCount.
	MaximumSessions() int
	// CreationTime returns when the session was created.
	CreationTime() time.Time
	// PlayerSessionCount returns CurrentPlayerSessionCount. It may be expensive.
	PlayerSessionCount() int
}

// kind is the type of an attribute or of a value.
type kind string

const (
	text   kind = "string"
	number kind = "number"
	flag   kind = "boolean"
)

// value is a value of any kind: text is empty unless it is a string, and a boolean is 0
// or 1.
type value struct {
	text   string
	number float64
}

func (v value) compare(w value) int {
	return cmp.Or(strings.Compare(v.text, w.text), cmp.Compare(v.number, w.number))
}

// truth orders false before true.
func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// attribute is a fact of a game session that can be compared or sorted by.
type attribute struct {
	name string // as written, a property with its prefix
	kind kind
	of   func(Subject) (value, bool) // false if the session has no value
}

// attributes are those of the API reference, SearchGameSessions, besides the properties.
// Epoch milliseconds stay below 2^53, so a float64 represents them exactly.
// hasAvailablePlayerSessions ignores the session's PlayerSessionCreationPolicy.
var attributes = []attribute{
	{"gameSessionId", text, func(s Subject) (value, bool) { return value{text: s.GameSessionID()}, true }},
	{"gameSessionName", text, func(s Subject) (value, bool) { return value{text: s.GameSessionName()}, true }},
	{"maximumSessions", number, func(s Subject) (value, bool) { return value{number: float64(s.MaximumSessions())}, true }},
	{"creationTimeMillis", number, func(s Subject) (value, bool) { return value{number: float64(s.CreationTime().UnixMilli())}, true }},
	{"playerSessionCount", number, func(s Subject) (value, bool) { return value{number: float64(s.PlayerSessionCount())}, true }},
	{"hasAvailablePlayerSessions", flag, func(s Subject) (value, bool) {
		return value{number: truth(s.PlayerSessionCount() < s.MaximumSessions())}, true
	}},
}

// propertyPrefix begins the name of an attribute that is a game property.
const propertyPrefix = "gameSessionProperties."

const knownAttributes = "gameSessionId, gameSessionName, gameSessionProperties.KEY, maximumSessions, " +
	"creationTimeMillis, playerSessionCount, hasAvailablePlayerSessions"

// lookupAttribute returns the attribute named by a word.
func lookupAttribute(word string) (attribute, bool) {
	if key, ok := strings.CutPrefix(word, propertyPrefix); ok {
		return attribute{word, text, property(key)}, key != ""
	}
	for _, a := range attributes {
		if a.name == word {
			return a, true
		}
	}
	return attribute{}, false
}

// property returns a function that returns the game property with a key, false if the
// session does not have it. A key with a period never has a value.
func property(key string) func(Subject) (value, bool) {
	if strings.Contains(key, ".") {
		return func(Subject) (value, bool) { return value{}, false }
	}
	return func(s Subject) (value, bool) {
		v, ok := s.Property(key)
		return value{text: v}, ok
	}
}

// comparators maps each comparator to a function that reports whether it holds; order is
// negative if the attribute is less than the value, 0 if they are equal.
var comparators = map[string]func(order int) bool{
	"=":  func(order int) bool { return order == 0 },
	"<>": func(order int) bool { return order != 0 },
	"<":  func(order int) bool { return order < 0 },
	">":  func(order int) bool { return order > 0 },
	"<=": func(order int) bool { return order <= 0 },
	">=": func(order int) bool { return order >= 0 },
}

// allows reports whether the attribute's type has the comparator.
func (a attribute) allows(op string) bool {
	return a.kind == number || op == "=" || op == "<>"
}
