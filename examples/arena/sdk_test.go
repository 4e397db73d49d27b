package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/examples/arena/bot"
)

// endpoint is the smallest service with which the official SDK can run a game
// session: it answers every request, the first heartbeat starts a game session, and
// only the reserved player sessions are accepted, once each.
type endpoint struct {
	t        *testing.T
	mu       sync.Mutex
	actions  []string
	reserved map[string]bool
	port     chan int // of the process, once it has a game session
}

type frame map[string]any

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	port := 0
	for started := false; ; {
		var request frame
		if conn.ReadJSON(&request) != nil {
			return
		}
		if n, ok := request["Port"].(float64); ok {
			port = int(n)
		}
		if conn.WriteJSON(e.answer(request)) != nil {
			return
		}
		if request["Action"] == "HeartbeatServerProcess" && !started {
			started = true
			if conn.WriteJSON(frame{"Action": "CreateGameSession", "MaximumPlayerSessionCount": 4, "Port": port,
				"IpAddress": "127.0.0.1", "GameSessionId": "arn:aws:gamelift:us-west-2::gamesession/fleet-1/gsess-1"}) != nil {
				return
			}
			e.port <- port
		}
	}
}

func (e *endpoint) answer(request frame) frame {
	e.mu.Lock()
	defer e.mu.Unlock()
	action, _ := request["Action"].(string)
	id, _ := request["PlayerSessionId"].(string)
	e.actions = append(e.actions, strings.TrimSpace(action+" "+id))
	answer := frame{"Action": action, "RequestId": request["RequestId"], "StatusCode": 200}
	if action == "AcceptPlayerSession" && !e.reserved[id] {
		maps.Copy(answer, frame{"StatusCode": 400, "ErrorMessage": "player session is not RESERVED"})
	}
	delete(e.reserved, id)
	return answer
}

// TestCommands_PlayThroughTheOfficialSDK runs both commands as users do. It cannot
// run in parallel: the SDK is global to the process and reads its settings from the
// environment.
func TestCommands_PlayThroughTheOfficialSDK(t *testing.T) {
	e := &endpoint{t: t, reserved: map[string]bool{"psess-1": true, "psess-2": true}, port: make(chan int, 1)}
	web := httptest.NewServer(e)
	defer web.Close()
	for name, value := range map[string]string{
		"WEBSOCKET_URL": strings.Replace(web.URL, "http", "ws", 1), "AUTH_TOKEN": "token-1",
		"PROCESS_ID": "process-1", "HOST_ID": "compute-1", "FLEET_ID": "fleet-1",
	} {
		t.Setenv("GAMELIFT_SDK_"+name, value)
	}
	log := t.TempDir() + "/arena.log"
	serverCode := make(chan int, 1)
	var serverErr bytes.Buffer
	go func() {
		serverCode <- run(t.Context(), []string{"server", "--empty", "1ms", "--ticks", "100", "--log-file", log}, &serverErr, &serverErr)
	}()
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(<-e.port))

	var out, stderr bytes.Buffer
	code := run(t.Context(), []string{"bot", "--addr", address, "--player-session", "psess-forged", "--json"}, &out, &stderr)
	if r := decodeResults(t, &out); code != exitRefused || r[0].Ending != bot.Refused {
		t.Errorf("forged session: got code %d, %+v, %s", code, r, &stderr)
	}
	code = run(t.Context(), []string{"bot", "--addr", address, "--player-session", "psess-1", "--player-session", "psess-2",
		"--for", "300ms", "--json"}, &out, &stderr)
	for _, r := range decodeResults(t, &out) {
		if !r.Played() || r.Ending != bot.Left || r.Snapshots == 0 {
			t.Errorf("got %+v", r)
		}
	}
	if code != exitDone {
		t.Errorf("bots: got code %d, %s", code, &stderr)
	}
	if code := <-serverCode; code != exitDone {
		t.Errorf("server: got code %d, %s", code, &serverErr)
	}
	e.checkActions(t)
}

func (e *endpoint) checkActions(t *testing.T) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, want := range []string{"ActivateServerProcess", "ActivateGameSession", "AcceptPlayerSession psess-1",
		"AcceptPlayerSession psess-2", "AcceptPlayerSession psess-forged", "RemovePlayerSession psess-1", "RemovePlayerSession psess-2"} {
		if !slices.Contains(e.actions, want) {
			t.Errorf("%s was not called: %q", want, e.actions)
		}
	}
	if last := e.actions[len(e.actions)-1]; last != "TerminateServerProcess" {
		t.Errorf("the last call was %s, want TerminateServerProcess", last)
	}
}

func decodeResults(t *testing.T, out *bytes.Buffer) []bot.Result {
	t.Helper()
	var results []bot.Result
	for decoder := json.NewDecoder(out); decoder.More(); {
		var r bot.Result
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&r); err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
	}
	out.Reset()
	if len(results) == 0 {
		t.Fatal("no result was printed")
	}
	return results
}

func TestRun_RefusesWrongUse(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"dance"}, {"bot"}, {"bot", "--addr", "127.0.0.1:1"}, {"bot", "--nonsense"}, {"server", "extra"}} {
		var out, stderr bytes.Buffer
		if code := run(t.Context(), args, &out, &stderr); code != exitUsage || stderr.Len() == 0 || out.Len() > 0 {
			t.Errorf("%q: got code %d, %q, %q", args, code, &out, &stderr)
		}
	}
}
