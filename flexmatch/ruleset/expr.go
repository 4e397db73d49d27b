package ruleset

import "strings"

// Expr is a property expression: a function of an expression, or a path from
// teams to values.
//
//	expression = function "(" expression ")" | path
//	path       = teams "[" ( "*" | names ) "]" [ ".players" [ part ] ]
//	part       = "[playerId]" | ".attributes[" name "]" [ "[" key "]" ]
type Expr struct {
	function function // "" for a path
	argument *Expr

	instances []int // of a path: teams of the match, in the order of the rule set
	part      part
	attribute int // of the part attribute
	key       string
	hasKey    bool

	typ exprType
}

// function is an aggregation of the language.
type function string

const (
	fnMin          function = "min"
	fnMax          function = "max"
	fnAvg          function = "avg"
	fnMedian       function = "median"
	fnSum          function = "sum"
	fnCount        function = "count"
	fnStddev       function = "stddev"
	fnFlatten      function = "flatten"
	fnIntersection function = "set_intersection"
)

// part is what a path leads to.
type part int

const (
	partTeams part = iota
	partPlayers
	partIDs
	partAttribute
)

// base is the innermost type of a value.
type base string

const (
	numbers base = "numbers"
	strs    base = "strings"
	mapped  base = "maps"
	players base = "players"
	teams   base = "teams"
	unknown base = "" // of an attribute whose declared type is not valid
)

// exprType is a base inside a number of lists.
type exprType struct {
	base  base
	depth int
	set   bool // the innermost list is a collection: a player's, or a set_intersection
	inter bool // the innermost list is the result of a set_intersection
}

// String describes the type for messages.
func (t exprType) String() string {
	singular := map[base]string{numbers: "a number", strs: "a string", mapped: "a map", players: "a player", teams: "a team"}
	if t.depth == 0 {
		return singular[t.base]
	}
	return strings.Repeat("lists of ", t.depth-1) + "a list of " + string(t.base)
}

// apply returns the type of a function's result. The second result is "" if the function
// accepts the argument, else it says what the function needs.
func (f function) apply(arg exprType) (exprType, string) {
	if arg.base == unknown {
		return arg, ""
	}
	out := exprType{base: arg.base, depth: arg.depth - 1}
	switch f {
	case fnCount:
		out.base = numbers
		return out, need(arg.depth >= 1, "a list")
	case fnFlatten:
		out.set, out.inter = arg.set && arg.depth > 2, arg.inter && arg.depth > 2
		if arg.depth == 1 {
			out = arg
		}
		return out, need(arg.depth >= 1, "a list")
	case fnIntersection:
		out.set, out.inter = true, true
		return out, need(arg.base == strs && arg.depth >= 2, "lists of strings inside a list")
	default:
		return out, need(arg.base == numbers && arg.depth >= 1, "a list of numbers")
	}
}

func need(ok bool, what string) string {
	if ok {
		return ""
	}
	return what
}

// flat reports whether the value is the same however players are distributed over teams:
// every path leads to all teams' players and is flattened directly.
func (e *Expr) flat(all int) bool {
	path := e.argument
	switch {
	case e.function == "":
		return false
	case path.function != "":
		return path.flat(all)
	case e.function == fnFlatten:
		return len(path.instances) == all && path.part != partTeams
	}
	return e.function == fnCount && path.part == partTeams
}

// leaf returns the path at the bottom of an expression.
func (e *Expr) leaf() *Expr {
	for e.function != "" {
		e = e.argument
	}
	return e
}

// listsPlayers reports whether the value is one list of a path's values.
func (e *Expr) listsPlayers() bool {
	return e.function == fnFlatten && e.argument.function == "" && e.typ.depth == 1
}

// same reports whether two flattened paths read the same values.
func (e *Expr) same(o *Expr) bool {
	return o.listsPlayers() && e.argument.attribute == o.argument.attribute && e.argument.key == o.argument.key
}

// many reports whether a path begins with a list of teams.
func (e *Expr) many() bool {
	inner := 0
	if e.part != partTeams {
		inner++
	}
	if e.typ.set {
		inner++
	}
	return e.typ.depth > inner
}

// counted returns the path whose numbers an expression aggregates, such as that in
// avg(flatten(teams[*].players.attributes[skill])), or nil for other expressions.
func (e *Expr) counted() *Expr {
	switch e.function {
	case fnMin, fnMax, fnAvg, fnMedian, fnSum, fnStddev:
		path := e.argument
		if path.function == fnFlatten {
			path = path.argument
		}
		if path.function == "" && path.part == partAttribute && path.typ.base == numbers {
			return path
		}
	}
	return nil
}
