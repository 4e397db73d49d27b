//go:build unix

package app_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/app/host"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/terminal"
	"github.com/musterhq/muster/internal/wait"
)

// speaking returns a game server that writes two lines before it plays.
func speaking(t *testing.T) string {
	t.Helper()
	first, rest, _ := strings.Cut(arenaText(t), "\n")
	return first + "\necho the map is loaded\necho a texture is missing >&2\n" + rest
}

// outputOf returns the end of the output of a game session's process, once it has text.
func outputOf(t *testing.T, c *client.Client, gameSessionID, text string) (out client.SessionLog) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last log is %+v", out)
		}
	})
	wait.Until(t, "the log has "+text, func() bool {
		var err error
		if out, _, err = c.SessionLogs().Get(t.Context(), gameSessionID); err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(out.Streams, func(s client.LogStream) bool { return strings.Contains(s.Text, text) })
	})
	return out
}

// The log of a build's game server is read while it plays, by those who may, and the audit log
// says so. What follows it sees what is written, and ends with the game session.
func TestSessionLog_Build(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) { o.AcceptAny = false })
	join(t, a, filepath.Join(t.TempDir(), "agent"), 26000, nil)
	f, err := a.MakeFleet(t, archiveOf(t, map[string]string{"server": speaking(t), "install.sh": "echo ok\n"}), nil)
	if err != nil {
		t.Fatal(err)
	}
	admin := firstKey(t, a)
	operator := with(t, a, admin, client.KeySpec{Name: "operator", Role: "operator"})
	reader := with(t, a, admin, client.KeySpec{Name: "reader", Role: "read-only"})
	var made struct {
		GameSession struct {
			GameSessionID string `json:"GameSessionId"`
		}
	}
	wait.Until(t, "a game session can be made", func() bool {
		return admin.Call(t.Context(), "CreateGameSession", map[string]any{"FleetId": f.ID, "MaximumPlayerSessionCount": 2}, &made) == nil
	})
	id := made.GameSession.GameSessionID
	log := outputOf(t, operator, id, "a texture is missing\n")
	if log.Why != "" || log.Ended || log.Process == "" || len(log.Streams) != 2 || log.Streams[0] != (client.LogStream{Name: "output", Text: "the map is loaded\n", End: 18}) {
		t.Errorf("the log is %+v", log)
	}
	short := id[strings.LastIndex(id, "/")+1:]
	var out bytes.Buffer
	view := &terminal.Terminal{Client: operator, Out: &out}
	if err := view.SessionLog(t.Context(), short, false); err != nil || out.String() != "==> output <==\nthe map is loaded\n==> errors <==\na texture is missing\n" {
		t.Errorf("muster sessions logs: %v\n%s", err, out.String())
	}
	if _, _, err := reader.SessionLogs().Get(t.Context(), id); err == nil || !strings.Contains(err.Error(), "muster:ReadLogs") {
		t.Errorf("a reader gets %v", err)
	}
	if _, _, err := operator.SessionLogs().Get(t.Context(), id+"x"); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a game session that does not exist: %v", err)
	}

	followed, first := make(chan error, 1), make(chan struct{})
	var frames []client.SessionLog
	go func() {
		followed <- operator.SessionLogs().Follow(t.Context(), id, func(l client.SessionLog) error {
			if frames = append(frames, l); len(frames) == 1 {
				close(first)
			}
			if l.Ended && (l.Process == "" || l.Stored) {
				return context.Canceled // seen
			}
			return nil
		})
	}()
	<-first
	in := map[string]any{"GameSessionId": id, "TerminationMode": "FORCE_TERMINATE"}
	if err := admin.Call(t.Context(), "TerminateGameSession", in, nil); err != nil {
		t.Fatal(err)
	}
	if err := <-followed; err != context.Canceled || frames[0].Why != "" {
		t.Errorf("following ended with %v after %+v", err, frames)
	}
	wait.Until(t, "the log is stored", func() bool {
		out.Reset()
		return view.SessionLog(t.Context(), id, false) == nil
	})
	if got := out.String(); !strings.HasPrefix(got, "==> output <==\nthe map is loaded\n") || !strings.Contains(got, "==> errors <==\na texture is missing\n") {
		t.Errorf("of a game session that has ended:\n%s", got)
	}
	fleet := "arn:aws:gamelift:us-east-1:000000000000:fleet/" + f.ID
	lines := audited(t, admin, "console muster:ReadLogs reader")
	for _, want := range []string{
		"console muster:ReadLogs operator ok [" + fleet + " " + id + "]",
		"console muster:ReadLogs reader AccessDeniedException [" + fleet + " " + id + "]",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("there is no record %q:\n%s", want, strings.Join(lines, "\n"))
		}
	}
}

// storedAfterEnd ends a game session and waits for the log that is stored of it, which follows
// what it has shown before.
func storedAfterEnd(t *testing.T, c *client.Client, id, want string) {
	t.Helper()
	read, write := io.Pipe()
	go func() {
		view := &terminal.Terminal{Client: c, Out: write}
		write.CloseWithError(view.SessionLog(t.Context(), id, true))
	}()
	text := bufio.NewReader(read)
	first, err := text.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	in := map[string]any{"GameSessionId": id, "TerminationMode": "FORCE_TERMINATE"}
	if err := c.Call(t.Context(), "TerminateGameSession", in, nil); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(text); err != nil || strings.Count(first+string(rest), want) != 1 || strings.Contains(string(rest), "muster:") {
		t.Errorf("following ended with %v after %q, want %q once", err, first+string(rest), want)
	}
	var url struct{ PreSignedUrl string }
	wait.Until(t, "the log is stored", func() bool {
		return c.Call(t.Context(), "GetGameSessionLogUrl", map[string]any{"GameSessionId": id}, &url) == nil
	})
	var out bytes.Buffer
	view := &terminal.Terminal{Client: c, Out: &out}
	if err := view.SessionLog(t.Context(), id, false); err != nil || !strings.Contains(out.String(), want) {
		t.Errorf("the stored log: %v, %q", err, out.String())
	}
}

// The log of a developer's own program is read, too, and stored when it has ended; what no agent
// runs has none here.
func TestSessionLog_Exec(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(program, []byte(speaking(t)), 0o755); err != nil {
		t.Fatal(err)
	}
	o := options(t, func(o *app.Options) {
		o.Host = &host.Options{Managed: true, Exec: &host.Program{Path: program, Dir: t.TempDir(), Args: []string{"server", "--port", "{port}"}}}
	})
	base, _, _ := run(t, o)
	first := events(t, base, "SERVER_PROCESS_ACTIVE", 1, 0)
	made := createWhenFree(t, base, map[string]any{"FleetId": first.FleetID, "Location": host.Location, "MaximumPlayerSessionCount": 2})
	c := &client.Client{Endpoint: base}
	if log := outputOf(t, c, made.GameSessionID, "the map is loaded"); log.Process != first.ProcessID {
		t.Errorf("the log is %+v", log)
	}
	answer, err := http.Get(base + "/console/api/views/session-load?id=" + made.GameSessionID)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	defer storedAfterEnd(t, c, made.GameSessionID, "the map is loaded\n")
	var load struct {
		Data struct {
			Why  string
			Used []any
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&load); err != nil || answer.StatusCode != http.StatusOK || load.Data.Why != "" || load.Data.Used == nil {
		t.Errorf("what it used: %d %+v, %v", answer.StatusCode, load, err)
	}
}
