package players

import (
	"bytes"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/sdk/session/player/protocol"
	"github.com/musterhq/muster/test/node"
)

// Nothing that the server writes, be it the database, the recording of commands or
// the log, gives access to its readers. A party's code is not secret: its members
// pass it on.
func TestSecrets_AreNotWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var log bytes.Buffer
	key := strings.Repeat("beacon key ", 3)
	keyFile := filepath.Join(t.TempDir(), "beacon-key")
	if err := os.WriteFile(keyFile, []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	hook := withStudio(t)
	a := node.InProcess(t, func(o *app.Options) {
		onDisk(t, dir)(o)
		hook(o)
		o.Record, o.Players.BeaconKeyFile = filepath.Join(dir, "record"), keyFile
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	s := &stage{T: t, app: a, url: a.URL()}
	s.owner("anna")
	mine := s.guest()
	secrets := map[string]string{
		"guest secret": mine.login.GuestSecret, "first refresh token": mine.login.RefreshToken, "first access token": mine.login.AccessToken,
		"provider's secret": "sixteen letters or more", "beacon key": strings.TrimSpace(key),
	}
	var in protocol.Session
	mine.call("POST", "/auth/guest/login", protocol.GuestLogin{PlayerID: mine.login.PlayerID, GuestSecret: mine.login.GuestSecret}, 200, &in)
	secrets["refresh token in use"] = in.RefreshToken
	mine.call("POST", "/auth/refresh", protocol.RefreshRequest{RefreshToken: in.RefreshToken}, 200, &in)
	secrets["refresh token"], secrets["access token"] = in.RefreshToken, in.AccessToken
	var let protocol.SocketTicket
	for _, name := range []string{"WebSocket ticket that was used", "WebSocket ticket"} {
		if let.Ticket != "" {
			_, _, err := mine.dial("?ticket="+let.Ticket, nil)
			s.must(err)
		}
		mine.call("POST", "/auth/ws-ticket", nil, 201, &let)
		secrets[name] = let.Ticket
	}
	secrets["conflict token that was replaced"] = mine.conflict("anna")
	secrets["conflict token"] = mine.conflict("anna")
	mine.merge(secrets["conflict token"], protocol.MergeRequestKeepTheirs)
	other := s.guest()
	secrets["conflict token in use"] = other.conflict("anna")
	s.stop()

	written := map[string][]byte{"the log": log.Bytes()}
	s.must(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		written[d.Name()], err = os.ReadFile(path)
		return err
	}))
	for _, name := range []string{"record", "muster.db"} {
		if !bytes.Contains(written[name], []byte(other.login.PlayerID)) {
			t.Errorf("the player's id is not in %s, so that it tells nothing of secrets", name)
		}
	}
	for name, secret := range secrets {
		if len(secret) < 16 {
			t.Errorf("the %s is %q", name, secret)
		}
		parts := strings.Split(secret, ".") // the last part of a token is what cannot be guessed
		for file, text := range written {
			if bytes.Contains(text, []byte(parts[len(parts)-1])) {
				t.Errorf("the %s is in %s", name, file)
			}
		}
	}
}
