// Package player is the client of Muster's player API: what a game client uses
// that has no key of the AWS API. It logs in, keeps its tokens fresh, reports
// latency, is matched, is told of its tickets by push, and makes, finds and joins game
// sessions.
//
// A Client is one player. It implements session.Sessions, session.Matchmaking and
// session.Tracker, so session.FindMatch goes the whole way with it:
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
// matchmakers, and for a queue it has pools: names that the operator leads to
// configurations and queues. A game session's id is a name of the player API, and no
// ARN. Errors are those of package session; errors.AsType[*player.Problem] gives the
// API's own.
package player
