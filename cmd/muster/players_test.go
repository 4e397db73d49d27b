package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/backend"
	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

// The example of the guide is valid.
func TestReadPlayers(t *testing.T) {
	t.Parallel()
	c, err := readYAML[backend.Config]("players", write(t, document.Find(t, "docs/players.md", "yaml", "issuer:").Text))
	if err != nil {
		t.Fatal(err)
	}
	if c.AccessLife != 15*time.Minute || len(c.Providers) != 3 || len(c.Matchmakers) != 1 || c.Matchmakers[0].MaxParty != 5 || len(c.Pools) != 1 || c.BeaconKeyFile == "" {
		t.Errorf("got %+v", c)
	}
}

// Support staff look up a player, ban the player and lift the ban.
func TestPlayers_Ban(t *testing.T) {
	t.Parallel()
	a := node.InProcess(t, nil)
	var guest struct {
		ID     string `json:"player_id"`
		Secret string `json:"guest_secret"`
	}
	post := func(path, body string) int {
		t.Helper()
		answer, err := http.Post(a.URL()+"/player/v1/auth/"+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if err := json.NewDecoder(answer.Body).Decode(&guest); err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode
	}
	post("guest", "{}")
	again := `{"player_id":"` + guest.ID + `","guest_secret":"` + guest.Secret + `"}`
	players := func(args ...string) (int, string) {
		t.Helper()
		code, out, complaint := typed(t, t.Context(), append(append([]string{"players"}, args...), "--endpoint", a.URL())...)
		return code, out + complaint
	}
	for _, step := range []struct {
		args  []string
		code  int
		says  string
		login int // status of a login after it; 0: not tried
	}{
		{[]string{"show", guest.ID}, 0, "logs in with a guest's secret; not banned", 200},
		{[]string{"ban", guest.ID}, 2, "--until", 200},
		{[]string{"ban", guest.ID, "--until", "soon"}, 1, `"soon"`, 200},
		{[]string{"ban", guest.ID, "--until", "2020-01-01T00:00:00Z"}, 1, "muster players unban", 200},
		{[]string{"ban", guest.ID, "--until", "2h", "--reason", strings.Repeat("x", 1001)}, 1, "at most 1000", 200},
		{[]string{"ban", "nobody", "--until", "2h"}, 1, "not-found: player nobody does not exist", 200},
		{[]string{"ban", guest.ID, "--until", "2h", "--reason", "aim\x1bbot"}, 0, "is banned until 2", 403},
		{[]string{"show", guest.ID}, 0, `aim\u001bbot`, 0},
		{[]string{"show", guest.ID, "-o", "json"}, 0, `"banned":true`, 0},
		{[]string{"ban", guest.ID, "--until", "never"}, 0, "is banned until 21", 403},
		{[]string{"unban", guest.ID}, 0, "is not banned", 200},
		{[]string{"show", guest.ID}, 0, "not banned", 0},
		{[]string{"show", "nobody"}, 1, `nothing is known of a player "nobody"`, 0},
		{[]string{"show", "nobody", "-o", "json"}, 1, `nothing is known of a player "nobody"`, 0},
	} {
		if code, text := players(step.args...); code != step.code || !strings.Contains(text, step.says) {
			t.Errorf("muster players %q: %d %q, want %d with %q", step.args, code, text, step.code, step.says)
		}
		if step.login == 0 {
			continue
		}
		if status := post("guest/login", again); status != step.login {
			t.Errorf("a login after muster players %q: %d, want %d", step.args, status, step.login)
		}
	}
}
