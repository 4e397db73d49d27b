package players

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/sdk/session/player/protocol"
	"github.com/musterhq/muster/test/node"
)

// binary is the program as a server of its own, with the studio as a provider.
func binary(t *testing.T, players string) *stage {
	t.Helper()
	p := node.Start(t, "--listen", "127.0.0.1:0", "--store", "memory", "--players-file", players)
	return &stage{T: t, url: p.URL, aws: node.Client(p.URL)}
}

// command runs a command of the program, and returns what it writes and whether it succeeded.
func (s *stage) command(args ...string) (out string, ok bool) {
	s.Helper()
	c := exec.CommandContext(s.Context(), node.Path(s.T), args...)
	c.Env = append(os.Environ(), "MUSTER_ENDPOINT="+s.url)
	text, err := c.CombinedOutput()
	s.Logf("muster %s: %v\n%s", strings.Join(args, " "), err, text)
	return string(text), err == nil
}

// succeeds runs a command whose output has to contain a text.
func (s *stage) succeeds(want string, args ...string) {
	s.Helper()
	if out, ok := s.command(args...); !ok || !strings.Contains(out, want) {
		s.Fatalf("muster %v: it failed, or does not say %q:\n%s", args, want, out)
	}
}

// Players move with their game in a bundle: they log in with what they logged in before, and
// find what was theirs. What cannot move is named, and then nothing does.
func TestBundle_TakesPlayersOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config, bundle := filepath.Join(dir, "players.yaml"), filepath.Join(dir, "game.zip")
	text := "providers:\n  - {name: studio, kind: custom, url: \"" + hookOfStudio(t) + "\", secret: sixteen letters or more}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	old := binary(t, config)
	_, err := old.aws.CreateMatchmakingRuleSet(t.Context(), &gamelift.CreateMatchmakingRuleSetInput{Name: aws.String("duel"), RuleSetBody: aws.String(duel)})
	old.must(err)
	plain, anna, banned, given := old.guest(), old.owner("anna"), old.guest(), old.guest()
	plain.call("PUT", "/players/me/data/private/save", `{"level": 1}`, 201, nil)
	plain.call("PUT", "/players/me/data/private/save", `{"level": 2}`, 200, nil)
	operator := &client{stage: old}
	operator.call("PUT", "/server/players/"+plain.login.PlayerID+"/data/secret/score", `7`, 201, nil)
	operator.call("PUT", "/server/players/"+banned.login.PlayerID+"/ban", protocol.BanRequest{Until: time.Now().Add(time.Hour)}, 204, nil)
	given.call("PUT", "/players/me/data/private/save", `{"given": "up"}`, 201, nil)
	given.merge(given.conflict("anna"), protocol.MergeRequestKeepTheirs)
	const crowd = 510 // more than go at once
	for range crowd {
		old.guest()
	}
	old.succeeds("in the bundle: 514 players;", "export", "--bundle", bundle, "--players")
	if info, err := os.Stat(bundle); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the bundle: %v, %v", info.Mode(), err)
	}
	records := unzipped(t, bundle, "players.ndjson")
	for _, secret := range []string{plain.login.GuestSecret, plain.login.RefreshToken, plain.login.AccessToken} {
		if secret == "" || bytes.Contains(records, []byte(secret)) {
			t.Errorf("the secret %q is in the bundle", secret)
		}
	}

	next := binary(t, config)
	next.succeeds("Players: 514 to take over, 0 here already.", "apply", "-f", bundle, "--plan")
	next.succeeds("514 players taken over", "apply", "-f", bundle, "--yes")
	at := func(c *client) *client { return &client{stage: next, login: c.login} }
	enters := func(c *client, status int) *client {
		t.Helper()
		in := &client{stage: next}
		body := map[string]string{"player_id": c.login.PlayerID, "guest_secret": c.login.GuestSecret}
		r := in.call("POST", "/auth/guest/login", body, status, nil)
		if status == 200 {
			next.must(json.Unmarshal(r.body, &in.login))
		}
		return in
	}
	at(plain).refused("GET", "/players/me", nil, 401, "token-invalid") // of the old server
	if r := enters(plain, 200).send("GET", "/players/me/data/private/save", nil); string(r.body) != "{\"level\":2}\n" || r.header.Get("ETag") != `"2"` {
		t.Errorf("the player finds %s, %s", r.body, r.header.Get("ETag"))
	}
	now := &client{stage: next}
	if now.call("POST", "/auth/studio", studio("anna"), 200, &now.login); now.login.PlayerID != anna.login.PlayerID {
		t.Errorf("anna is player %s at the next server, and was %s", now.login.PlayerID, anna.login.PlayerID)
	}
	enters(banned, 403)
	enters(given, 401)
	backend := &client{stage: next}
	if r := backend.send("GET", "/server/players/"+plain.login.PlayerID+"/data/secret/score", nil); string(r.body) != "7\n" {
		t.Errorf("the backend finds %s", r.body)
	}
	if r := backend.send("GET", "/server/players/"+given.login.PlayerID+"/data/private/save", nil); string(r.body) != "{\"given\":\"up\"}\n" {
		t.Errorf("the backend finds %s of the player who was merged", r.body)
	}
	next.succeeds("Players: 0 to take over, 514 here already.", "apply", "-f", bundle, "--yes")

	other := binary(t, config)
	holder := other.owner("anna")
	cut := rewritten(t, bundle, func(b []byte) []byte { return b[:bytes.LastIndexByte(bytes.TrimSpace(b), '\n')+1] })
	twice := rewritten(t, bundle, func(b []byte) []byte {
		first := b[:bytes.IndexByte(b, '\n')+1]
		return bytes.Replace(append(bytes.Clone(first), b...), []byte(`{"players":514}`), []byte(`{"players":515}`), 1)
	})
	for _, c := range []struct{ file, says string }{
		{bundle, "player " + anna.login.PlayerID + ": the account … of studio is linked to player " + holder.login.PlayerID},
		{cut, "they are not whole"},
		{twice, "is there twice"},
	} {
		if out, ok := other.command("apply", "-f", c.file, "--yes"); ok || !strings.Contains(out, c.says) || !strings.Contains(out, "--no-players") {
			t.Errorf("%s: it succeeded, or does not say %q:\n%s", c.file, c.says, out)
		}
	}
	if out, _ := other.command("export"); strings.Contains(out, "duel") {
		t.Errorf("the set-up was changed although the players are refused:\n%s", out)
	}
	(&client{stage: other}).call("GET", "/server/players/"+plain.login.PlayerID+"/data/secret/score", nil, 404, nil)
	other.succeeds("rule set duel", "apply", "-f", bundle, "--yes", "--no-players")
}

// unzipped returns a file of an archive.
func unzipped(t *testing.T, path, name string) []byte {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	f, err := z.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// rewritten returns a copy of a bundle with other records of players.
func rewritten(t *testing.T, bundle string, change func([]byte) []byte) string {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, text := range map[string][]byte{"players.ndjson": change(unzipped(t, bundle, "players.ndjson")), "muster.yaml": unzipped(t, bundle, "muster.yaml")} {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "game.zip")
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
