package ruleset

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/internal/fault"
)

// Error is one thing wrong with a rule set.
type Error struct {
	Code    Code
	Line    int    // from 1
	Column  int    // in characters, from 1
	Path    string // the member, such as rules[2].maxDistance; "" for the body itself
	Message string // the rule that is broken
}

// Error returns code, position, member and message in one line.
func (e Error) Error() string {
	path := e.Path
	if path != "" {
		path = " " + path
	}
	return fmt.Sprintf("%s at %d:%d%s: %s", e.Code, e.Line, e.Column, path, e.Message)
}

// Errors lists everything wrong with a rule set, in the order of checking: body, version,
// teams, attributes, algorithm, rules, expansions.
type Errors []Error

// Error returns every error, one per line.
func (es Errors) Error() string {
	return strings.Join(each(es, Error.Error), "\n")
}

// Fault returns the InvalidRequestException for a caller. Its message begins with the
// code of the first error and contains all of them.
func (es Errors) Fault() error {
	return fault.Invalid("%s", strings.ReplaceAll(es.Error(), "\n", "; "))
}

// Code identifies the rule of the language that is broken.
type Code string

// The body as a whole.
const (
	BodyTooLarge    Code = "E_BODY_TOO_LARGE"
	JSONSyntax      Code = "E_JSON_SYNTAX"
	UnknownProperty Code = "E_UNKNOWN_PROPERTY"
	MissingProperty Code = "E_MISSING_PROPERTY"
	WrongType       Code = "E_TYPE" // if no code below is more specific
	BadVersion      Code = "E_VERSION"
)

// Teams, attributes and the algorithm.
const (
	NoTeams             Code = "E_NO_TEAMS"
	BadTeamSize         Code = "E_TEAM_SIZE"
	BadTeamQuantity     Code = "E_TEAM_QUANTITY"
	DuplicateTeam       Code = "E_DUP_TEAM"
	MatchTooLarge       Code = "E_MATCH_TOO_LARGE"
	DuplicateAttribute  Code = "E_DUP_ATTRIBUTE"
	BadAttributeType    Code = "E_ATTRIBUTE_TYPE"
	BadAttributeDefault Code = "E_ATTRIBUTE_DEFAULT"
	BadStrategy         Code = "E_STRATEGY"
	BadBatching         Code = "E_BATCHING"
	BadSortAttributes   Code = "E_SORT_ATTRIBUTES"
	BadBalanced         Code = "E_BALANCED_ATTRIBUTE"
	BadBackfillPriority Code = "E_BACKFILL_PRIORITY"
	BadExpansionAge     Code = "E_EXPANSION_AGE"
	LargeStrategy       Code = "E_LARGE_STRATEGY"
)

// Rules and their expressions.
const (
	LargeRule           Code = "E_LARGE_RULE"
	DuplicateRule       Code = "E_DUP_RULE"
	BadRuleType         Code = "E_RULE_TYPE"
	BadOperation        Code = "E_RULE_OPERATION"
	BadReference        Code = "E_RULE_REFERENCE"
	BadBounds           Code = "E_RULE_BOUNDS"
	BadPartyAggregation Code = "E_PARTY_AGGREGATION"
	ExprSyntax          Code = "E_EXPR_SYNTAX"
	ExprType            Code = "E_EXPR_TYPE"
	ExprTeam            Code = "E_EXPR_TEAM"
	ExprAttribute       Code = "E_EXPR_ATTRIBUTE"
	BadLatency          Code = "E_LATENCY"
	BadBatchDistance    Code = "E_BATCH_DISTANCE"
	BadSortRule         Code = "E_SORT_RULE"
	CompoundSyntax      Code = "E_COMPOUND_SYNTAX"
	CompoundReference   Code = "E_COMPOUND_REF"
	CompoundBatch       Code = "E_COMPOUND_BATCH"
)

// Expansions.
const (
	BadExpansionTarget Code = "E_EXPANSION_TARGET"
	ExpansionCompound  Code = "E_EXPANSION_COMPOUND"
	BadExpansionSteps  Code = "E_EXPANSION_STEPS"
	BadExpansionValue  Code = "E_EXPANSION_VALUE"
)
