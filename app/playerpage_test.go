package app_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// An operator bans a player and lifts the ban with the console's login; stored data is for
// roles that may read it.
func TestConsole_Player(t *testing.T) {
	t.Parallel()
	a, keys, _ := serve(t, "admin", "read-only")
	player := guest(t, a)
	operator, reader := newBrowser(t, a.URL()).logIn(keys["admin"].Credentials), newBrowser(t, a.URL()).logIn(keys["read-only"].Credentials)
	server := "/player/v1/server/players/" + player
	long := strings.Repeat("x", 5000)
	for name, value := range map[string]string{"server/rank": `{"skill":1200}`, "secret/notes": `"` + long + `"`} {
		if status, text := operator.send(http.MethodPut, server+"/data/"+name, value, asJSON); status != http.StatusCreated {
			t.Fatalf("store %s: %d %s", name, status, text)
		}
	}
	var data struct {
		Data struct {
			Values []struct {
				Namespace, Key, Value string
				Size                  int
			}
		}
	}
	status, text := operator.view("player-data?id=" + player)
	if err := json.Unmarshal([]byte(text), &data); err != nil || status != http.StatusOK || len(data.Data.Values) != 2 {
		t.Fatalf("stored data: %d %s, %v", status, text, err)
	}
	if v := data.Data.Values; v[0].Key != "notes" || v[0].Size != 5002 || len(v[0].Value) != 4096 || v[1].Namespace != "server" || v[1].Value != `{"skill":1200}` {
		t.Errorf("stored data: %+v", v)
	}
	if status, text := reader.view("player-data?id=" + player); status != http.StatusForbidden {
		t.Errorf("stored data for a reader: %d %s", status, text)
	}
	if status, text := operator.view("player-data?id=nobody"); status != http.StatusNotFound {
		t.Errorf("stored data of nobody: %d %s", status, text)
	}

	banned := func() (banned bool, reason string) {
		t.Helper()
		var page struct {
			Data struct {
				Account struct {
					Name   string
					Banned bool
					Reason string
				}
			}
		}
		_, text := reader.view("player?id=" + player)
		if err := json.Unmarshal([]byte(text), &page); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		return page.Data.Account.Banned, page.Data.Account.Reason
	}
	ban := func(b *browser, until time.Time, csrf string) int {
		t.Helper()
		header := map[string]string{"Content-Type": "application/json"}
		if csrf != "" {
			header["X-Muster-Csrf"] = csrf
		}
		status, _ := b.send(http.MethodPut, server+"/ban", `{"until":"`+until.UTC().Format(time.RFC3339)+`","reason":"aimbot"}`, header)
		return status
	}
	if status := ban(reader, time.Now().Add(time.Hour), ""); status != http.StatusForbidden {
		t.Errorf("a ban by a reader: %d", status)
	}
	if status := ban(operator, time.Now().Add(time.Hour), "x"); status < 400 {
		t.Errorf("a ban without the page's proof: %d", status)
	}
	if is, _ := banned(); is {
		t.Fatal("is banned, although nobody could")
	}
	if status := ban(operator, time.Now().Add(time.Hour), ""); status != http.StatusNoContent {
		t.Fatalf("a ban: %d", status)
	}
	if is, reason := banned(); !is || reason != "aimbot" {
		t.Errorf("after the ban: %t, %q", is, reason)
	}
	if status := ban(operator, time.Now().Add(-time.Second), ""); status != http.StatusNoContent {
		t.Fatalf("lifting the ban: %d", status)
	}
	if is, _ := banned(); is {
		t.Error("is still banned")
	}
}
