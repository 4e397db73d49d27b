package players

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// hookOfStudio returns the URL of the operator's own webhook, a provider of logins: a token is
// the name of its account.
func hookOfStudio(t *testing.T) string {
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in := map[string]string{}
		if err := json.UnmarshalRead(r.Body, &in); err != nil {
			t.Error(err)
		}
		json.MarshalWrite(w, map[string]string{"subject": in["token"]})
	}))
	t.Cleanup(hook.Close)
	return hook.URL
}

// withStudio configures that webhook as the provider studio.
func withStudio(t *testing.T) func(*app.Options) {
	url := hookOfStudio(t)
	return func(o *app.Options) {
		o.Players.Providers = []identity.ProviderConfig{{Name: "studio", Kind: identity.Custom, URL: url, Secret: "sixteen letters or more"}}
	}
}

const linkStudio = "/players/me/identities/studio"

func studio(name string) protocol.ProviderLogin { return protocol.ProviderLogin{Token: name} }

// owner returns a client that logged in with an account of the studio.
func (s *stage) owner(account string) *client {
	s.Helper()
	c := &client{stage: s}
	c.call("POST", "/auth/studio", studio(account), 201, &c.login)
	return c
}

// conflict tries to link an account and returns the token of the refusal.
func (c *client) conflict(account string) string {
	c.Helper()
	var p protocol.Problem
	c.read(c.refused("PUT", linkStudio, studio(account), 409, "identity-in-use"), &p)
	return p.ConflictToken
}

func (c *client) merge(token string, keep protocol.MergeRequestKeep) (now *client) {
	c.Helper()
	now = &client{stage: c.stage}
	c.call("POST", "/players/me/merge", protocol.MergeRequest{ConflictToken: token, Keep: keep}, 200, &now.login)
	return now
}

// A player given up in the middle of things leaves them: the ticket is cancelled, the
// party continues, the push ends; and the player kept can play.
func TestMerge_LeavesWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	s := newStage(t, withStudio(t))
	theirs, bert := s.owner("anna"), s.guest()
	mine := s.guest()
	mine.call("PUT", "/players/me/data/private/save", `{"level":1}`, 201, nil)
	theirs.call("PUT", "/players/me/data/private/save", `{"level":9}`, 201, nil)
	var party protocol.Party
	mine.call("POST", "/parties", protocol.PartyRequest{Matchmaker: "trio"}, 201, &party)
	bert.call("POST", "/parties/join", protocol.PartyJoin{Code: party.Code}, 200, nil)
	mine.call("PUT", "/parties/"+party.PartyID+"/members/me", protocol.MemberChange{}, 200, nil)
	bert.call("PUT", "/parties/"+party.PartyID+"/members/me", protocol.MemberChange{Ready: true}, 200, nil)
	var ticket protocol.Ticket
	mine.call("POST", "/matchmaking/tickets", protocol.TicketRequest{Matchmaker: "trio", PartyID: party.PartyID}, 201, &ticket)
	push, _ := mine.greeted("")

	now := mine.merge(mine.conflict("anna"), protocol.MergeRequestKeepTheirs)
	if now.login.PlayerID != theirs.login.PlayerID || now.login.Scope != protocol.SessionScopeAuthenticated {
		t.Errorf("the login is %+v, want one of %s", now.login, theirs.login.PlayerID)
	}
	if code := push.closed(); code != protocol.CloseUnauthorized {
		t.Errorf("the push of who is given up is closed with %d", code)
	}
	bert.until(&protocol.Ticket{TicketID: ticket.TicketID}, protocol.TicketStateCancelled)
	bert.call("GET", "/parties/"+party.PartyID, nil, 200, &party)
	if party.Leader != bert.login.PlayerID || len(party.Members) != 1 {
		t.Errorf("the party is %+v", party)
	}
	mine.refused("GET", "/players/me", nil, 401, "token-invalid")
	bert.refused("GET", "/players/"+mine.login.PlayerID, nil, 404, "not-found")
	if r := now.send("GET", "/players/me/data/private/save", nil); string(r.body) != "{\"level\":9}\n" {
		t.Errorf("the data is %s", r.body)
	}
	// The operator's backend still reads the data of the player given up.
	if r := now.send("GET", "/server/players/"+mine.login.PlayerID+"/data/private/save", nil); string(r.body) != "{\"level\":1}\n" {
		t.Errorf("the data that was given up is %s", r.body)
	}
	now.refused("GET", "/matchmaking/tickets/"+ticket.TicketID, nil, 404, "not-found")
	now.ask("duel")
}

// The token of a conflict works for the player who got it, once; it helps neither a
// thief nor a banned player.
func TestMerge_Refused(t *testing.T) {
	t.Parallel()
	s := bare(t, withStudio(t))
	theirs, mine, thief := s.owner("anna"), s.guest(), s.guest()
	const path = "/players/me/merge"
	token := mine.conflict("anna")
	ask := protocol.MergeRequest{ConflictToken: token, Keep: protocol.MergeRequestKeepMine}
	thief.refused("POST", path, ask, 409, "conflict-token-invalid")
	(&client{stage: s}).refused("POST", path, ask, 401, "token-missing")
	mine.refused("POST", path, `{"conflict_token":"`+token+`","keep":"both"}`, 400, "invalid-parameter")
	mine.refused("POST", path, `{"conflict_token":"`+token+`"}`, 400, "invalid-parameter")

	ban := protocol.BanRequest{Until: time.Now().Add(time.Hour), Reason: "cheated"}
	mine.call("PUT", "/server/players/"+theirs.login.PlayerID+"/ban", ban, 204, nil)
	mine.refused("POST", path, ask, 403, "banned")
	if again := mine.conflict("anna"); again != "" {
		t.Error("a banned player can be merged")
	}
	mine.call("PUT", "/server/players/"+theirs.login.PlayerID+"/ban", protocol.BanRequest{Until: time.Now()}, 204, nil)
	now := mine.merge(token, protocol.MergeRequestKeepMine)
	now.refused("POST", path, ask, 409, "conflict-token-invalid")

	// A ban of the player given up also bans the player kept.
	mine.call("PUT", "/server/players/"+theirs.login.PlayerID+"/ban", ban, 204, nil)
	mine.refused("GET", "/players/me", nil, 401, "token-invalid")
	(&client{stage: s}).refused("POST", "/auth/studio", studio("anna"), 403, "banned")
}
