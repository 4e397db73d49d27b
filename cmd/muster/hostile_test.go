package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode"
)

// texts are the answers of a server in which every text is from others; TEXT stands for
// it.
var texts = map[string]string{
	"/console/api/fleets":             `[{"id":"TEXT","name":"TEXT","status":"TEXT","compute_type":"TEXT","locations":[{"location":"TEXT","status":"TEXT","reason":"TEXT"}]}]`,
	"/console/api/processes":          `[{"id":"TEXT","host":"TEXT","game_session_id":"TEXT"}]`,
	"DescribeGameSessions":            `{"GameSessions":[{"GameSessionId":"TEXT","Name":"TEXT","FleetId":"TEXT","Status":"TEXT","IpAddress":"TEXT","Location":"TEXT"}]}`,
	"/console/api/events":             `{"seq":1,"time":"2026-01-01T00:00:00Z","code":"TEXT","fleet_id":"TEXT","compute_name":"TEXT","process_id":"TEXT","game_session_id":"TEXT","player_session_id":"TEXT","message":"TEXT","principal":"TEXT"}`,
	"/console/api/queues":             `[{"name":"TEXT","arn":"TEXT","destinations":["TEXT"]}]`,
	"/console/api/placements/x":       `{"placement":{"id":"TEXT","queue":"TEXT","status":"TEXT","reason":"TEXT"},"rounds":[{"result":"TEXT","candidates":[{"place":{"fleet_id":"TEXT","location":"TEXT"},"outcome":"TEXT","text":"TEXT","failed":1}]}]}`,
	"/console/api/tickets/x":          `{"ticket":{"id":"TEXT","configuration":"TEXT","status":"TEXT","message":"TEXT"}}`,
	"/console/api/tickets/accepting":  `{"ticket":{"id":"TEXT","configuration":"TEXT","status":"REQUIRES_ACCEPTANCE","match_id":"TEXT","members":[{"p":"TEXT"}]}}`,
	"/console/api/tickets/never":      `{"ticket":{"status":"TEXT","configuration":"TEXT"},"waiting":{"ticket_id":"TEXT","next_step":{"changes":["TEXT"]},"never":[{"code":"TEXT","text":"TEXT"}]}}`,
	"/console/api/tickets/waiting":    `{"ticket":{"status":"TEXT","configuration":"TEXT"},"waiting":{"ticket_id":"TEXT","alone":[{"text":"TEXT"}],"blocking":[{"rule":"TEXT","type":"TEXT","reason":"TEXT"}],"nearest":{"teams":"TEXT","broken":["TEXT"],"rejected":[{"rule":"TEXT","reason":"TEXT"}]}}}`,
	"/console/api/matchmaking/x":      `{"never":[{"code":"TEXT","name":"TEXT"}],"looked_at":1,"rules":[{"rule":"TEXT","reason":"TEXT"}],"broken":[{"rule":"TEXT","reason":"TEXT"}]}`,
	"/admin/v1/audit":                 `{"records":[{"seq":1,"door":"TEXT","action":"TEXT","resources":["TEXT"],"key_id":"TEXT","key_name":"TEXT","source":"TEXT","user_agent":"TEXT","outcome":"TEXT"}]}`,
	"/admin/v1/audit/verify":          `{"records":1,"from":1,"last":1,"hash":"TEXT"}`,
	"/agent/v1/hosts":                 `[{"HostID":"TEXT","Name":"TEXT","Location":"TEXT","IPAddress":"TEXT"}]`,
	"/notify/sinks":                   `{"sinks":[{"name":"TEXT","kind":"TEXT","url":"TEXT","topics":["TEXT"]}]}`,
	"/notify/dead-letters":            `{"dead_letters":[{"seq":1,"detail_type":"TEXT","error":"TEXT"}]}`,
	"/console/api/tickets/refused":    "",
	"/console/api/placements/refused": "",
}

// answering returns the URL of a server whose every text is the given one.
func answering(t *testing.T, text string) string {
	t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	inside := strings.Trim(string(quoted), `"`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "GameLift.")
		if name == "" {
			name = strings.TrimSuffix(r.URL.Path, "/explain")
		}
		answer, ok := texts[name]
		if !ok {
			t.Errorf("a command asks for %s, which this server does not have", name)
		}
		if answer == "" {
			w.WriteHeader(http.StatusBadRequest)
			answer = `{"__type":"TEXT","message":"TEXT"}`
		}
		io.WriteString(w, strings.ReplaceAll(answer, "TEXT", inside))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestHostileText checks, for every command that shows texts of others, what a hostile
// process or host could send: titles, a cleared screen, the clipboard, a forged line, a
// reversed reading direction.
func TestHostileText(t *testing.T) {
	const hostile = "a\x1b]0;title\a\x1b[2J\u009b1A\x1b]52;c;bHM=\x1b\\\u202e\u2028\r\n  1  00:00:00.000  ACCESS_KEY_DELETED\tb\x7f"
	calm, evil := answering(t, "a"), answering(t, hostile)
	for _, command := range []string{
		"fleets", "sessions", "queues", "events", "hosts", "webhooks", "webhooks dead x", "placements explain x", "placements explain refused",
		"tickets explain x", "tickets explain accepting", "tickets explain never", "tickets explain waiting", "tickets explain refused", "tickets overview x", "admin audit", "admin audit verify",
	} {
		for _, format := range []string{"table", "json"} {
			args := append(strings.Fields(command), "-o", format, "--endpoint")
			code, want, wantErr := typed(t, t.Context(), append(args, calm)...)
			got, out, err := typed(t, t.Context(), append(args, evil)...)
			if got != code || strings.Count(out, "\n") != strings.Count(want, "\n") || strings.Count(err, "\n") != strings.Count(wantErr, "\n") {
				t.Errorf("%s as %s: other text, another shape:\n%s%s\nwanted like\n%s%s", command, format, out, err, want, wantErr)
			}
			if out+err == "" || !strings.Contains(out+err, `\u001b]52;c;bHM=\u001b`) {
				t.Errorf("%s as %s does not show the text: %q %q", command, format, out, err)
			}
			for _, r := range out + err {
				if r != '\n' && unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) {
					t.Errorf("%s as %s prints %q: %q %q", command, format, r, out, err)
					break
				}
			}
			if format == "json" && code == 0 && !json.Valid([]byte(strings.Split(strings.TrimSpace(out), "\n")[0])) {
				t.Errorf("%s prints no JSON: %s", command, out)
			}
		}
	}
}

// TestWatch_Erases checks that --watch can erase the screen although others' text is escaped.
func TestWatch_Erases(t *testing.T) {
	s := (&streams{ctx: t.Context(), out: &strings.Builder{}, err: io.Discard}).escaped()
	view, err := (&watchFlags{Watch: true, Every: 1}).ProvideTerminal(s)
	if err != nil || view.Screen == nil || view.Screen == view.Out {
		t.Errorf("a watch erases through %v, %v", view.Screen, err)
	}
}
