// Package ruleset reads the rule sets of FlexMatch: parse, check, compile, evaluate.
//
// A body is processed in four stages, each in its own files:
//
//	node.go, comment.go   parse the JSON text into a tree with positions
//	teams.go … rule.go    check the tree and collect all errors
//	expansion.go          resolves the rules once for each wait time that changes them
//	level.go, evaluate.go judge a lineup: which players are in which team
//
// Each type of rules has its own file with everything about it (rule.go lists the types).
// Traits says what a search may rely on.
//
// The language is that of the FlexMatch developer guide (rule set schema, rule types,
// property expressions). Where the guide is silent or contradicts itself,
// docs/flexmatch-rules.md says what we chose.
//
// A RuleSet is immutable after Parse and safe for concurrent use. The package knows
// neither tickets nor the store: a ticket appears here as a Party.
package ruleset
