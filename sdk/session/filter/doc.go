// Package filter writes the expressions with which game sessions are searched
// (API reference, SearchGameSessions, FilterExpression and SortExpression):
//
//	f := filter.And(filter.HasRoom(true), filter.Property("mode", filter.Eq, "brawl"))
//	request.Filter, err = filter.Write(f)
//	// hasAvailablePlayerSessions=true AND gameSessionProperties.mode = 'brawl'
//
// Values are quoted so that no player's text changes the meaning of an
// expression. The package uses the standard library only.
package filter
