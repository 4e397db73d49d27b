package hosts_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/agent/relay"
	"github.com/musterhq/muster/hosts"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/gameframe"
	"github.com/musterhq/muster/internal/wait"
)

// wish is a request of a game server of these tests: an answer with a number of bytes.
type wish struct {
	Action    string
	RequestID string `json:"RequestId"`
	Want      int
	Padding   string
}

// fulfill answers the wishes of a relayed process.
func fulfill(socket door.Socket) {
	for {
		_, r, err := socket.NextReader()
		if err != nil {
			return
		}
		text, err := io.ReadAll(r)
		var in wish
		if err != nil || json.Unmarshal(text, &in) != nil {
			return
		}
		answer := fmt.Sprintf(`{"Action":%q,"RequestId":%q,"StatusCode":200,"Heard":%d,"Data":"`, in.Action, in.RequestID, len(text))
		if socket.WriteMessage(websocket.TextMessage, []byte(answer+strings.Repeat("x", max(in.Want-len(answer)-2, 0))+`"}`)) != nil {
			socket.Drop()
			return
		}
	}
}

// relaying is an agent's relay, linked to the door.
type relaying struct {
	*agent
	*relay.Relay
	d     protocol.Desired
	links chan *websocket.Conn // those that it has opened
}

// relays starts the relay of an agent that knows the subprotocols.
func relays(t *testing.T, serve func(door.Socket), subprotocols ...string) *relaying {
	t.Helper()
	y := openWith(t, func(o *hosts.Options, _ *yard) {
		o.Relay = func(_ url.Values, _ string, socket door.Socket) error {
			go serve(socket)
			return nil
		}
	})
	y.managed()
	a := y.connect(y.join())
	r := &relaying{agent: a, d: a.assigned(1)[0], links: make(chan *websocket.Conn, 8)}
	var err error
	r.Relay, err = relay.Listen(relay.Options{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler), Dial: func(ctx context.Context) (*websocket.Conn, error) {
		dialer := websocket.Dialer{Subprotocols: subprotocols}
		ws, _, err := dialer.DialContext(ctx, "ws"+strings.TrimPrefix(y.url, "http")+protocol.PathRelay, credential(a.JoinResponse))
		if err == nil {
			r.links <- ws
		}
		return ws, err
	}})
	y.Must(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); r.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	<-r.links
	return r
}

// game connects a process to the relay.
func (r *relaying) game(id string) *websocket.Conn {
	r.Helper()
	r.Admit(id, "own", func() string { return "compute-token" })
	q := url.Values{"pID": {id}, "ComputeId": {r.d.Compute}, "FleetId": {r.d.FleetID}, "Authorization": {"own"}}
	ws := wait.Value(r.t, "process "+id+" is connected", func() (*websocket.Conn, error) {
		ws, answer, err := websocket.DefaultDialer.DialContext(r.Ctx, r.URL()+"?"+q.Encode(), nil)
		if err != nil && (answer == nil || answer.StatusCode != http.StatusServiceUnavailable) { // the link is there, but not yet in use
			r.Fatalf("process %s: %v", id, err)
		}
		return ws, err
	})
	r.t.Cleanup(func() { ws.Close() })
	return ws
}

// ask sends a wish with a number of bytes, and returns the answer.
func (r *relaying) ask(ws *websocket.Conn, id string, size, want int) (answer struct {
	RequestID    string `json:"RequestId"`
	StatusCode   int
	ErrorMessage string
	Heard        int
	Data         string
}) {
	r.Helper()
	in := wish{Action: "DescribePlayerSessions", RequestID: id, Want: want}
	empty, err := json.Marshal(in)
	r.Must(err)
	in.Padding = strings.Repeat("x", max(size-len(empty), 0))
	frame, err := json.Marshal(in)
	r.Must(err)
	r.Must(ws.WriteMessage(websocket.TextMessage, frame))
	r.Must(ws.SetReadDeadline(time.Now().Add(wait.Patience())))
	if err := ws.ReadJSON(&answer); err != nil || answer.RequestID != id {
		r.Fatalf("%s: answered %d %s, %v", id, answer.StatusCode, answer.RequestID, err)
	}
	return answer
}

// Whatever the sizes of one process's messages, the link that it shares with the others of
// its host stays.
func TestRelay_LargeMessages(t *testing.T) {
	for name, c := range map[string]struct {
		subprotocols []string
		most         int
	}{
		"in parts":       {[]string{protocol.RelayInParts}, gameframe.Max},
		"an older agent": {nil, 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			r := relays(t, fulfill, c.subprotocols...)
			large, other := r.game("large"), r.game("other")
			if got := r.ask(large, "largest request", c.most, 0); got.Heard != c.most {
				t.Errorf("of a request of %d bytes %d were received: %d %s", c.most, got.Heard, got.StatusCode, got.ErrorMessage)
			}
			if got := r.ask(large, "largest answer", 0, c.most); len(got.Data) < c.most-1000 {
				t.Errorf("of an answer of %d bytes %d are data", c.most, len(got.Data))
			}
			for _, size := range []int{c.most + 1, gameframe.Max + 1, 3 * gameframe.Max} {
				if got := r.ask(large, fmt.Sprint("request of ", size), size, 0); got.StatusCode != http.StatusBadRequest || !strings.Contains(got.ErrorMessage, fmt.Sprint(size, " bytes")) {
					t.Errorf("a request of %d bytes: %d %s", size, got.StatusCode, got.ErrorMessage)
				}
			}
			if got := r.ask(large, "after", 0, 0); got.StatusCode != http.StatusOK {
				t.Errorf("after refused requests: %+v", got)
			}
			r.Must(large.WriteJSON(wish{Action: "A", RequestID: "too large an answer", Want: c.most + 1}))
			if _, _, err := large.ReadMessage(); err == nil {
				t.Error("an answer that is too large arrives")
			}
			for n := range 3 {
				if got := r.ask(other, fmt.Sprint("other ", n), 0, 0); got.StatusCode != http.StatusOK {
					t.Errorf("the other process: %+v", got)
				}
			}
			if len(r.links) > 0 {
				t.Error("the link was lost")
			}
		})
	}
}

// Parts of frames of different processes do not mix.
func TestRelay_ManyLargeMessages(t *testing.T) {
	r := relays(t, fulfill, protocol.RelayInParts)
	done := make(chan error, 4)
	for n := range cap(done) {
		ws := r.game(fmt.Sprint("p", n))
		go func() {
			for i := range 5 {
				if err := ws.WriteJSON(wish{Action: "A", RequestID: fmt.Sprint(i), Want: 1 << 20, Padding: strings.Repeat(fmt.Sprint(n), 1<<20)}); err != nil {
					done <- err
					return
				}
			}
			for i := range 5 {
				var a struct {
					RequestID string `json:"RequestId"`
					Heard     int
				}
				if err := ws.ReadJSON(&a); err != nil || a.RequestID != fmt.Sprint(i) || a.Heard < 1<<20 {
					done <- fmt.Errorf("answer %d of process %d: %+v, %w", i, n, a, err)
					return
				}
			}
			done <- nil
		}()
	}
	for range cap(done) {
		r.Must(<-done)
	}
}

// unread keeps the sockets of processes whose frames nobody reads.
type unread chan door.Socket

func (u unread) serve(socket door.Socket) { u <- socket }

// dropped waits until a process's connection is dropped.
func (r *relaying) dropped(ws *websocket.Conn) {
	r.Helper()
	r.Must(ws.SetReadDeadline(time.Now().Add(wait.Patience())))
	if _, _, err := ws.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseAbnormalClosure) {
		r.Fatalf("the connection ended with %v", err)
	}
}

// A process whose frames are not read is dropped at 8 MiB, alone.
func TestRelay_UnreadOfOneProcess(t *testing.T) {
	sockets := make(unread, 8)
	r := relays(t, sockets.serve, protocol.RelayInParts)
	fast := r.game("fast")
	<-sockets
	other := r.game("other")
	behind := <-sockets
	frame := []byte(`{"Action":"A","Padding":"` + strings.Repeat("x", 3<<20) + `"}`)
	for range 3 {
		r.Must(fast.WriteMessage(websocket.TextMessage, frame))
	}
	r.dropped(fast)
	go fulfill(behind)
	r.ask(other, "after", 0, 0)
	if len(r.links) > 0 {
		t.Error("the link was lost")
	}
}

// If too much of all processes of a host waits to be read, the one with the most is dropped.
func TestRelay_UnreadOfAllProcesses(t *testing.T) {
	sockets := make(unread, 32)
	r := relays(t, sockets.serve, protocol.RelayInParts)
	frame := []byte(`{"Action":"A","RequestId":"first","Padding":"` + strings.Repeat("x", gameframe.Max-1000) + `"}`)
	most := r.game("most")
	<-sockets
	r.Must(most.WriteMessage(websocket.TextMessage, []byte(`{"Action":"A","Padding":"`+strings.Repeat("x", gameframe.Max-100)+`"}`)))
	var others []*websocket.Conn
	var behind []door.Socket
	for n := range 16 {
		others = append(others, r.game(fmt.Sprint("p", n)))
		behind = append(behind, <-sockets)
		r.Must(others[n].WriteMessage(websocket.TextMessage, frame))
	}
	r.dropped(most)
	for n, ws := range others {
		go fulfill(behind[n])
		var answer struct{ Heard int }
		r.Must(ws.ReadJSON(&answer))
		if answer.Heard != len(frame) {
			t.Errorf("of process %d %d bytes were kept", n, answer.Heard)
		}
	}
}
