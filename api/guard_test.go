package api

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/fault"
)

// unbound are operations whose inputs may name no resource, or none of a kind that
// scopes have: they are refused to a caller with a scope if the input names none.
var unbound = map[string]bool{
	"CreateContainerGroupDefinition": true, "DeleteContainerGroupDefinition": true, "DescribeContainerGroupDefinition": true,
	"ListContainerGroupDefinitionVersions": true, "UpdateContainerGroupDefinition": true,
}

// Every operation of the API names a resource that can be in a scope, or is known to
// concern the whole account, or to be harmless: a new operation must be classified
// here.
func TestGuard_KnowsEveryOperation(t *testing.T) {
	t.Parallel()
	names, members := map[string]bool{}, map[string]bool{}
	for _, op := range gamelift.API().Operations {
		names[op.Name] = true
		in := reflect.TypeOf(op.NewInput()).Elem()
		bound := false
		for i := range in.NumField() {
			member := in.Field(i).Name
			members[op.Name+"."+member] = true
			_, known := scopedMembers[member]
			if (member == "Name" || member == "Names") && named[op.Name] == "" || member == "Location" || member == "Locations" {
				known = false // does not name a resource alone
			}
			bound = bound || known
		}
		classes := 0
		for _, is := range []bool{accountWide[op.Name], harmless[op.Name], unbound[op.Name], (bound || lists[op.Name]) && !accountWide[op.Name]} {
			if is {
				classes++
			}
		}
		if classes != 1 {
			t.Errorf("%s is of %d classes, want one: names a resource (%t) or lists, account-wide, harmless, or not in any scope", op.Name, classes, bound)
		}
	}
	for _, set := range []map[string]bool{accountWide, lists, harmless, atHome, unbound} {
		for name := range set {
			if !names[name] {
				t.Errorf("the API has no operation %s", name)
			}
		}
	}
	for member := range notNames {
		if !members[member] {
			t.Errorf("the API has no member %s", member)
		}
	}
	for name := range named {
		if !names[name] {
			t.Errorf("the API has no operation %s", name)
		}
	}
}

// The ids of player sessions are hidden in every place, and the domain's own data is
// not changed.
func TestHide(t *testing.T) {
	t.Parallel()
	id, other := "psess-1", "p1"
	out := &gamelift.DescribePlayerSessionsOutput{PlayerSessions: []gamelift.PlayerSession{{PlayerSessionId: &id, PlayerId: &other}}}
	hide(reflect.ValueOf(out))
	if got := *out.PlayerSessions[0].PlayerSessionId; got != hiddenID || *out.PlayerSessions[0].PlayerId != "p1" || id != "psess-1" {
		t.Errorf("hidden as %q; the domain's own is %q", got, id)
	}
	placed := &gamelift.DescribeGameSessionPlacementOutput{GameSessionPlacement: &gamelift.GameSessionPlacement{
		PlacedPlayerSessions: []gamelift.PlacedPlayerSession{{PlayerSessionId: &id}},
	}}
	hide(reflect.ValueOf(placed))
	if got := *placed.GameSessionPlacement.PlacedPlayerSessions[0].PlayerSessionId; got != hiddenID {
		t.Errorf("of a placement: %q", got)
	}
	ticket := &gamelift.DescribeMatchmakingOutput{TicketList: []gamelift.MatchmakingTicket{{
		GameSessionConnectionInfo: &gamelift.GameSessionConnectionInfo{MatchedPlayerSessions: []gamelift.MatchedPlayerSession{{PlayerSessionId: &id}}},
	}}}
	hide(reflect.ValueOf(ticket))
	if got := *ticket.TicketList[0].GameSessionConnectionInfo.MatchedPlayerSessions[0].PlayerSessionId; got != hiddenID {
		t.Errorf("of a ticket: %q", got)
	}
}

// A NextToken may contain the id of a player session: callers that may not see it get a
// sealed token, which is opened before the handler reads it.
func TestMasked_SealsNextToken(t *testing.T) {
	t.Parallel()
	master, err := auth.NewMaster(make([]byte, auth.MasterKeySize))
	if err != nil {
		t.Fatal(err)
	}
	h := handlers{Services{Sealer: master}}
	const secret = "psess-secret"
	var read []string
	next := func(_ context.Context, in any) (any, error) {
		if token := in.(*gamelift.DescribePlayerSessionsInput).NextToken; token != nil {
			read = append(read, *token)
		}
		return &gamelift.DescribePlayerSessionsOutput{NextToken: new(secret)}, nil
	}
	ask := func(token *string) (*gamelift.DescribePlayerSessionsOutput, error) {
		out, err := h.masked(t.Context(), next, &gamelift.DescribePlayerSessionsInput{NextToken: token})
		if err != nil {
			return nil, err
		}
		return out.(*gamelift.DescribePlayerSessionsOutput), nil
	}
	first, err := ask(nil)
	if err != nil || strings.Contains(*first.NextToken, secret) {
		t.Fatalf("first page: %+v, %v", first, err)
	}
	if _, err := ask(first.NextToken); err != nil || len(read) != 1 || read[0] != secret {
		t.Errorf("the handler read %q, %v", read, err)
	}
	if _, err := ask(new(secret)); !fault.Is(err, fault.InvalidRequest) {
		t.Errorf("a token that was not sealed: %v", err)
	}
}
