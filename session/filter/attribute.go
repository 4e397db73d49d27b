package filter

import "strings"

// kind is the type of an attribute or of a value.
type kind string

const (
	text   kind = "string"
	number kind = "number"
	flag   kind = "boolean"
)

// The attributes of the API reference, SearchGameSessions.
const (
	gameSessionID   = "gameSessionId"
	gameSessionName = "gameSessionName"
	propertyPrefix  = "gameSessionProperties."
	maximumSessions = "maximumSessions"
	creationTime    = "creationTimeMillis"
	playerSessions  = "playerSessionCount"
	hasAvailable    = "hasAvailablePlayerSessions"
)

const knownAttributes = "gameSessionId, gameSessionName, gameSessionProperties.KEY, maximumSessions, " +
	"creationTimeMillis, playerSessionCount, hasAvailablePlayerSessions"

// attribute is a fact of a game session that can be compared or sorted by.
type attribute struct {
	name string // as written, a property with its prefix
	key  string // the property's key; "" for the other attributes
	kind kind
}

// lookupAttribute returns the attribute named by a word.
func lookupAttribute(word string) (attribute, bool) {
	if key, ok := strings.CutPrefix(word, propertyPrefix); ok {
		return attribute{name: word, key: key, kind: text}, key != ""
	}
	switch word {
	case gameSessionID, gameSessionName:
		return attribute{name: word, kind: text}, true
	case maximumSessions, creationTime, playerSessions:
		return attribute{name: word, kind: number}, true
	case hasAvailable:
		return attribute{name: word, kind: flag}, true
	}
	return attribute{}, false
}

// allows reports whether the attribute's type has the comparator.
func (a attribute) allows(op string) bool {
	return a.kind == number || op == "=" || op == "<>"
}

// text returns the subject's value of a string attribute, and false if it has none.
func (a attribute) text(s Subject) (string, bool) {
	switch a.name {
	case gameSessionID:
		return s.GameSessionID(), true
	case gameSessionName:
		return s.GameSessionName(), true
	}
	if strings.Contains(a.key, ".") {
		return "", false
	}
	return s.Property(a.key)
}

// number returns the subject's value of a number attribute. Epoch milliseconds stay below
// 2^53, so a float64 represents them exactly.
func (a attribute) number(s Subject) float64 {
	switch a.name {
	case maximumSessions:
		return float64(s.MaximumSessions())
	case creationTime:
		return float64(s.CreationTime().UnixMilli())
	default:
		return float64(s.PlayerSessionCount())
	}
}

// flag returns the subject's value of the only boolean attribute. It ignores the
// session's PlayerSessionCreationPolicy.
func (a attribute) flag(s Subject) bool {
	return s.PlayerSessionCount() < s.MaximumSessions()
}
