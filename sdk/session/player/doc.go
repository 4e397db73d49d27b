// Package player is the client of Muster's player API: what a game client uses
// that has no key of the AWS API. It logs in, keeps its tokens fresh, reports
// latency, is matched, and is told of its tickets by push.
//
// A Client is one player. It implements session.Matchmaking and session.Tracker,
// so session.FindMatch goes the whole way with it:
//
//	c, err := player.New(player.Config{URL: "https://play.example.com"})
//	…
//	me, err := c.Login(ctx)
//	…
//	place, err := session.FindMatch(ctx, c, c, netcode,
//		session.MatchRequest{Configuration: "ranked", Players: []session.Player{{ID: me.PlayerID}}}, session.MatchOptions{})
//
// Players who want to be matched together are a Party, which its leader has matched
// through ForParty.
//
// Where session speaks of a matchmaking configuration, the player API has
// matchmakers: names that the operator leads to configurations. Errors are those of
// package session; errors.AsType[*player.Problem] gives the API's own.
package player
