// Package filter parses the search expressions of SearchGameSessions: which game sessions
// are found (FilterExpression) and in what order (SortExpression).
//
//	expr    := and { OR and }
//	and     := not { AND not }
//	not     := NOT not | primary
//	primary := "(" expr ")" | attribute cmp value
//	cmp     := "=" | "<>" | "<" | ">" | "<=" | ">="
//	value   := number | true | false | string
//	sort    := attribute [ ASC | DESC ]
//
// The attributes, their types and comparators are those of the API reference,
// SearchGameSessions; attribute.go lists them. Where the reference is silent:
//
//   - Keywords, true and false may be written in either case; attribute names may not.
//   - A string is in single or double quotes. A backslash makes the
//     character after it an ordinary one.
//   - A property key ends at the next space or comparator.
//   - For a session without the property both "=" and "<>" are false,
//     and it is sorted last in both directions. A key with a period is never
//     found, as the reference warns.
//
// A parsed expression is safe for concurrent use; Match and Compare do not allocate. The
// package knows neither the store nor the session table: a game session appears here as a
// Subject.
package filter
