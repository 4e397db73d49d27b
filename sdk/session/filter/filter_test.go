package filter_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/sdk/session/filter"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	room, few := filter.HasRoom(true), filter.Players(filter.Lt, 8)
	cases := []struct {
		e    filter.Expr
		want string
	}{
		{filter.Expr{}, ""},
		{filter.And(), ""},
		{filter.And(room, filter.Property("mode", filter.Eq, "brawl"), few),
			"hasAvailablePlayerSessions=true AND gameSessionProperties.mode = 'brawl' AND playerSessionCount<8"},
		{filter.And(room, filter.Or(few, filter.MaxPlayers(filter.Ge, 2))), "hasAvailablePlayerSessions=true AND (playerSessionCount<8 OR maximumSessions>=2)"},
		{filter.Or(filter.And(room, few), room), "hasAvailablePlayerSessions=true AND playerSessionCount<8 OR hasAvailablePlayerSessions=true"},
		{filter.And(filter.Or(few)), "playerSessionCount<8"},
		{filter.And(filter.And(filter.Or(few, room)), room), "(playerSessionCount<8 OR hasAvailablePlayerSessions=true) AND hasAvailablePlayerSessions=true"},
		{filter.Or(few, filter.Expr{}), ""},
		{filter.Not(filter.Or(few, room)), "NOT (playerSessionCount<8 OR hasAvailablePlayerSessions=true)"},
		{filter.Name(filter.Ne, `Bob's \ "game"`), `gameSessionName <> 'Bob\'s \\ "game"'`},
		{filter.ID(filter.Eq, "arn:aws:gamelift:us-west-2::gamesession/f/g"), "gameSessionId = 'arn:aws:gamelift:us-west-2::gamesession/f/g'"},
		{filter.Created(filter.Gt, time.UnixMilli(1700000000123)), "creationTimeMillis>1700000000123"},
	}
	for _, c := range cases {
		if got, err := filter.Write(c.e); err != nil || got != c.want {
			t.Errorf("got %s, %v, want %s", got, err, c.want)
		}
	}
}

func TestWrite_Refuses(t *testing.T) {
	t.Parallel()
	for _, e := range []filter.Expr{
		filter.Name(filter.Lt, "a"), filter.Property("a.b", filter.Eq, "c"), filter.Property("", filter.Eq, "c"),
		filter.Property("a b", filter.Eq, "c"), filter.Players("==", 1), filter.Not(filter.And()),
		filter.And(filter.HasRoom(true), filter.Or(filter.Name(filter.Ge, "x"))),
		filter.Name(filter.Eq, strings.Repeat("x", 1024)),
	} {
		if got, err := filter.Write(e); !errors.Is(err, filter.ErrInvalid) || got != "" || e.String() != "" {
			t.Errorf("got %s, %v", got, err)
		}
	}
	if filter.ByProperty("a.b", filter.Ascending) != "" || filter.ByCreation(filter.Descending) != "creationTimeMillis DESC" {
		t.Error("sort expressions are wrong")
	}
}
