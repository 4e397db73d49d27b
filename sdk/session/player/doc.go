// Package player is the client of Muster's player API, for game clients, which have
// no key of the AWS API. It logs in, keeps its tokens fresh, reports latency, matches
// the player, receives ticket changes by push, and creates, finds and joins game
// sessions.
//
// A Client is one player. It implements session.Sessions, session.Matchmaking and
// session.Tracker, so session.FindMatch works with it alone:
//
//	c, err := player.New(player.Config{URL: "https://play.example.com"})
//	…
//	me, err := c.Login(ctx)
//	…
//	place, err := session.FindMatch(ctx, c, c, netcode,
//		session.MatchRequest{Configuration: "ranked", Players: []session.Player{{ID: me.PlayerID}}}, session.MatchOptions{})
//
// Players who want to be matched together form a Party, whose leader starts
// matchmaking through ForParty.
//
// Where session has matchmaking configurations and queues, the player API has
// matchmakers and pools: names that the operator maps to configurations and queues. A
// game session's id is an id of the player API, not an ARN. Errors are those of
// package session; errors.AsType[*player.Problem] returns the API's own.
package player
