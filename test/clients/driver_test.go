package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/gorilla/websocket"
)

// A wire carries one JSON object at a time.
type wire interface {
	read() ([]byte, error)
	write(text []byte) error
	close()
}

// lines is a wire over TCP, with one object a line.
type lines struct {
	conn net.Conn
	in   *bufio.Scanner
}

// mostLine is the longest line of a driver, in bytes.
const mostLine = 4 << 20

func newLines(conn net.Conn) *lines {
	l := &lines{conn: conn, in: bufio.NewScanner(conn)}
	l.in.Buffer(nil, mostLine)
	return l
}

func (l *lines) read() ([]byte, error) {
	if !l.in.Scan() {
		return nil, errors.Join(errors.New("the driver has disconnected"), l.in.Err())
	}
	return l.in.Bytes(), nil
}

func (l *lines) write(text []byte) error {
	_, err := l.conn.Write(append(text, '\n'))
	return err
}

func (l *lines) close() { l.conn.Close() }

// frames is a wire over the WebSocket of a page.
type frames struct{ ws *websocket.Conn }

func (f frames) read() ([]byte, error) {
	_, text, err := f.ws.ReadMessage()
	return text, err
}

func (f frames) write(text []byte) error { return f.ws.WriteMessage(websocket.TextMessage, text) }
func (f frames) close()                  { f.ws.Close() }

// A call is what the runner has a driver do.
type call struct {
	ID     int64          `json:"id"`
	Client string         `json:"client,omitempty"`
	Do     string         `json:"do"`
	With   map[string]any `json:"with,omitempty"`
}

// fromDriver is any object that a driver sends: its greeting, the end of a call, or an event.
type fromDriver struct {
	Hello   string            `json:"hello"`
	Runtime string            `json:"runtime"`
	Skips   map[string]string `json:"skips"`

	ID     int64          `json:"id"`
	Result any            `json:"result"`
	Error  map[string]any `json:"error"`

	Client string `json:"client"`
	Event  string `json:"event"`
	Data   any    `json:"data"`
}

// driver is a connected driver program.
type driver struct {
	wire    wire
	output  func() string     // what the program has printed
	runtime string            // its own name and version
	skips   map[string]string // verbs that its library does not have, with the reason

	writing sync.Mutex
	mu      sync.Mutex // guards what follows
	last    int64
	calls   map[int64]chan fromDriver
	clients map[string]*inbox
	gone    chan struct{} // closed when the driver has disconnected
	err     error         // why; read it after gone
}

// greet reads the first object of a driver, and begins to read the rest.
func greet(w wire, output func() string) (*driver, error) {
	text, err := w.read()
	if err != nil {
		return nil, err
	}
	var hello fromDriver
	if err := json.Unmarshal(text, &hello); err != nil || hello.Hello == "" {
		return nil, fmt.Errorf("a driver begins with %s: %w", text, err)
	}
	for verb, why := range hello.Skips {
		if verbs[verb] == nil || why == "" {
			return nil, fmt.Errorf("the driver skips %q: %q", verb, why)
		}
	}
	d := &driver{
		wire: w, output: output, runtime: hello.Hello + ", " + hello.Runtime, skips: hello.Skips,
		calls: map[int64]chan fromDriver{}, clients: map[string]*inbox{}, gone: make(chan struct{}),
	}
	go d.readAll()
	return d, nil
}

func (d *driver) readAll() {
	defer close(d.gone)
	for {
		text, err := d.wire.read()
		if err != nil {
			d.err = err
			return
		}
		var m fromDriver
		if err := json.Unmarshal(text, &m); err != nil {
			d.err = fmt.Errorf("the driver sent %s: %w", text, err)
			return
		}
		d.mu.Lock()
		switch {
		case m.Event != "":
			if in := d.clients[m.Client]; in != nil {
				in.add(m)
			}
		case d.calls[m.ID] != nil:
			d.calls[m.ID] <- m // has room for one
			delete(d.calls, m.ID)
		}
		d.mu.Unlock()
	}
}

// begin starts a call and returns its id and where its end arrives.
func (d *driver) begin(client, do string, with map[string]any) (int64, <-chan fromDriver, error) {
	end := make(chan fromDriver, 1)
	d.mu.Lock()
	d.last++
	c := call{ID: d.last, Client: client, Do: do, With: with}
	d.calls[c.ID] = end
	d.mu.Unlock()
	text, err := json.Marshal(c)
	if err != nil {
		return 0, nil, err
	}
	d.writing.Lock()
	defer d.writing.Unlock()
	return c.ID, end, d.wire.write(text)
}

// wait waits for the end of a call.
func (d *driver) wait(ctx context.Context, end <-chan fromDriver) (fromDriver, error) {
	select {
	case m := <-end:
		return m, nil
	case <-d.gone:
		return fromDriver{}, d.err
	case <-ctx.Done():
		return fromDriver{}, fmt.Errorf("no answer: %w", ctx.Err())
	}
}

// listen begins to keep a client's events.
func (d *driver) listen(client string) *inbox {
	in := &inbox{news: make(chan struct{}, 1)}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clients[client] = in
	return in
}

// inbox has the events of one client, in the order of their arrival.
type inbox struct {
	mu   sync.Mutex
	all  []fromDriver
	news chan struct{} // has a value if there may be more
}

func (in *inbox) add(m fromDriver) {
	in.mu.Lock()
	in.all = append(in.all, m)
	in.mu.Unlock()
	select {
	case in.news <- struct{}{}:
	default:
	}
}

// take removes the events of a kind up to the first that fits, and returns that. Events of
// other kinds stay.
func (in *inbox) take(kind string, fits func(data any) bool) (data any, ok bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for i, m := range in.all {
		if m.Event != kind || !fits(m.Data) {
			continue
		}
		var rest []fromDriver
		for j, other := range in.all {
			if j > i || other.Event != kind {
				rest = append(rest, other)
			}
		}
		in.all = rest
		return m.Data, true
	}
	return nil, false
}

// seen returns the events of a kind that have not been taken, for messages.
func (in *inbox) seen(kind string) []any {
	in.mu.Lock()
	defer in.mu.Unlock()
	var all []any
	for _, m := range in.all {
		if m.Event == kind {
			all = append(all, m.Data)
		}
	}
	return all
}

// until waits for an event that fits.
func (in *inbox) until(ctx context.Context, d *driver, kind string, fits func(data any) bool) (any, error) {
	for {
		if data, ok := in.take(kind, fits); ok {
			return data, nil
		}
		select {
		case <-in.news:
		case <-d.gone:
			return nil, d.err
		case <-ctx.Done():
			return nil, fmt.Errorf("no such event: %w; there were %s", ctx.Err(), show(in.seen(kind)))
		}
	}
}
