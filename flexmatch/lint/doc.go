// Package lint says what in a valid rule set is probably not what its author meant: what no match
// can fulfill, what never applies or changes nothing, and what makes matching expensive where many
// tickets wait. It is pure.
//
// Each finding is certain, in one of two ways. Impossible, Unreached and Idle follow from the rule
// language and the sizes of teams, whatever the players are; what depends on them is not found.
// Expensive follows from how the search works: pool.Blind returns the rules that a search in a crowd
// cannot use before it has a whole match, so the finding disappears once the search can use the rule.
//
//	impossible.go  matches that cannot be: single rules, and rules that exclude each other
//	expansion.go   steps that change nothing, go the wrong way or come too late
//	idle.go        rules that always hold, attributes that nobody reads
//	expensive.go   what a search in a crowd cannot use, and the cheaper form
//	setting.go     what a configuration and its queue add to this
package lint
