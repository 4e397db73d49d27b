// Package filter builds the expressions that search for game sessions (API reference,
// SearchGameSessions, FilterExpression and SortExpression):
//
//	f := filter.And(filter.HasRoom(true), filter.Property("mode", filter.Eq, "brawl"))
//	request.Filter, err = filter.Write(f)
//	// hasAvailablePlayerSessions=true AND gameSessionProperties.mode = 'brawl'
//
// Values are quoted, so no player's text can change the meaning of an expression. The
// package uses the standard library only.
package filter
