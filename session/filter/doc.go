// Package filter reads the search expressions of SearchGameSessions: which game
// sessions are found (FilterExpression) and in what order (SortExpression).
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
//   - A string stands between single or double quotes. A backslash makes the
//     character after it an ordinary one.
//   - A property key reaches to the next space or comparator.
//   - A session that lacks the property answers false to "=" and to "<>" alike,
//     and is sorted last in both directions. A key that holds a period is never
//     found, as the reference warns.
//
// An expression is read once and may then be matched by many goroutines; Match
// and Compare allocate nothing. The package knows neither the store nor the
// session table: it sees a game session as a Subject.
package filter
