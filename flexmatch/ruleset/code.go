package ruleset

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
