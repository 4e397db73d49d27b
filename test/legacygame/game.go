// Package legacygame is a game server with Server SDK 3 or 4, written from what the SDKs in
// each language send. Tests direct it by lines on its port.
package legacygame

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// Message is a protobuf message that is being written.
type Message []byte

// Text appends a field with a text, or with a message.
func (m Message) Text(number int, s string) Message {
	m = binary.AppendUvarint(m, uint64(number)<<3|2)
	m = binary.AppendUvarint(m, uint64(len(s)))
	return append(m, s...)
}

// Number appends a field with a number.
func (m Message) Number(number, v int) Message {
	return binary.AppendUvarint(binary.AppendUvarint(m, uint64(number)<<3), uint64(v))
}

const pbuffer = "com.amazon.whitewater.auxproxy.pbuffer."

// oldSDK is a client of Server SDK 3 or 4, written from what such clients send.
type oldSDK struct {
	form  string // cpp, csharp, node, java, csharp4
	ports []string
	port  int // of the game

	mu     sync.Mutex
	conns  []*oldConn
	next   int // id of the next request, of all connections
	pushes []map[string]any
}

// oldConn is a connection of socket.io, or the WebSocket of C# 4.
type oldConn struct {
	sdk  *oldSDK
	ws   *websocket.Conn
	open chan struct{} // closed at socket.io's CONNECT

	writing sync.Mutex

	mu   sync.Mutex
	next int
	acks map[int]chan []json.RawMessage
}

// query returns what each form appends to the URL.
func (o *oldSDK) query() string {
	pid := strconv.Itoa(os.Getpid())
	switch o.form {
	case "cpp":
		return "EIO=4&transport=websocket&t=1700000000&pID=" + pid + "&sdkLanguage=Cpp&sdkVersion=3.4.2"
	case "csharp":
		return "pID=" + pid + "&sdkVersion=3.4.0&sdkLanguage=CSharp&EIO=3&transport=websocket&t=638000000000000000-0"
	case "java":
		return "pID=" + pid + "&sdkVersion=3.4.0&sdkLanguage=Java&EIO=3&transport=websocket"
	case "csharp4":
		return "pID=" + pid + "&sdkVersion=4.0.2&sdkLanguage=CSharp"
	}
	return "pID=" + pid + "&sdkVersion=3.2.1&sdkLanguage=Nodejs&EIO=3&transport=websocket"
}

// initialize is InitSDK.
func (o *oldSDK) initialize() error {
	connections := 2
	if o.form == "java" || o.form == "csharp4" {
		connections = 1
	}
	for range connections {
		if err := o.dial(); err != nil {
			return err
		}
	}
	return nil
}

func (o *oldSDK) dial() error {
	at, header := "ws://127.0.0.1:"+o.ports[0]+"/socket.io/?"+o.query(), http.Header{}
	if o.form == "csharp4" {
		at = "ws://127.0.0.1:" + o.ports[2] + "/?" + o.query()
	}
	if o.form == "csharp" {
		header.Set("Origin", "ws://127.0.0.1:"+o.ports[0])
	}
	dialer := websocket.Dialer{EnableCompression: o.form == "node"}
	ws, _, err := dialer.Dial(at, header)
	if err != nil {
		return err
	}
	c := &oldConn{sdk: o, ws: ws, open: make(chan struct{}), acks: map[int]chan []json.RawMessage{}}
	if o.form == "csharp4" {
		pong := make(chan struct{})
		ws.SetPongHandler(func(string) error { close(pong); ws.SetPongHandler(nil); return nil })
		ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second))
		c.open = pong
	}
	go c.read()
	select {
	case <-c.open:
	case <-time.After(5 * time.Second):
		return errors.New("LOCAL_CONNECTION_FAILED")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.conns = append(o.conns, c)
	return nil
}

func (c *oldConn) write(kind int, frame string) {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.ws.WriteMessage(kind, []byte(frame))
}

func (c *oldConn) read() {
	for {
		kind, frame, err := c.ws.ReadMessage()
		if err != nil {
			return
		}
		switch text := string(frame); {
		case kind != websocket.TextMessage:
			fmt.Println("unexpected binary frame")
		case c.sdk.form == "csharp4":
			c.sdk.took4(frame)
		case text == "40":
			close(c.open)
		case strings.HasPrefix(text, "43"):
			id, args := cutID(text[2:])
			c.mu.Lock()
			ack := c.acks[id]
			delete(c.acks, id)
			c.mu.Unlock()
			if ack == nil {
				fmt.Println("an acknowledgement of nothing:", text) // C# throws
				os.Exit(3)
			}
			ack <- args
		case strings.HasPrefix(text, "42"):
			c.pushed(text[2:])
		}
	}
}

// cutID returns the id before an array, or -1, and the array.
func cutID(text string) (int, []json.RawMessage) {
	at := strings.IndexByte(text, '[')
	id, err := strconv.Atoi(text[:at])
	if err != nil {
		id = -1
	}
	var args []json.RawMessage
	if json.Unmarshal([]byte(text[at:]), &args) != nil {
		fmt.Println("no JSON:", text)
		os.Exit(3)
	}
	return id, args
}

func (c *oldConn) pushed(text string) {
	id, args := cutID(text)
	var name, content string
	if json.Unmarshal(args[0], &name) != nil || json.Unmarshal(args[1], &content) != nil {
		fmt.Println("the argument of a push is no string:", text)
		os.Exit(3)
	}
	if id >= 0 {
		if c.sdk.form == "csharp" {
			c.write(websocket.TextMessage, fmt.Sprintf("43%d[\n  true\n]", id))
		} else {
			c.write(websocket.TextMessage, fmt.Sprintf("43%d[true]", id))
		}
	}
	c.sdk.took(name, []byte(content))
}

// took4 is a push to C# 4.
func (o *oldSDK) took4(frame []byte) {
	var envelope struct {
		InnerMessage map[string]any `json:"innerMessage"`
	}
	if json.Unmarshal(frame, &envelope) != nil {
		fmt.Println("no JSON:", string(frame))
		os.Exit(3)
	}
	kind, _ := envelope.InnerMessage["@type"].(string)
	delete(envelope.InnerMessage, "@type")
	name := strings.TrimPrefix(kind, "type.googleapis.com/"+pbuffer)
	if name == "ActivateGameSession" {
		name = "StartGameSession"
	}
	content, _ := json.Marshal(envelope.InnerMessage)
	o.took(name, content)
}

func (o *oldSDK) took(name string, content []byte) {
	push := map[string]any{}
	if json.Unmarshal(content, &push) != nil {
		fmt.Println("no JSON:", string(content))
		os.Exit(3)
	}
	push["push"] = name
	o.mu.Lock()
	o.pushes = append(o.pushes, push)
	o.mu.Unlock()
	switch name {
	case "StartGameSession":
		id, _ := push["gameSession"].(map[string]any)["gameSessionId"].(string)
		go o.call("GameSessionActivate", Message(nil).Text(1, id))
	case "TerminateProcess":
		go func() {
			o.call("ProcessEnding", nil)
			fmt.Println("told to end:", string(content))
			os.Exit(0)
		}()
	}
}

// call sends a request as the form does, and returns whether it succeeded and the text of
// its answer.
func (o *oldSDK) call(name string, body Message) (bool, string) {
	if o.form == "csharp4" {
		return o.post(name, body)
	}
	o.mu.Lock()
	c := o.conns[0] // the first one carries all requests
	o.mu.Unlock()
	ack := make(chan []json.RawMessage, 1)
	c.mu.Lock()
	id := c.next
	c.next++
	if o.form == "cpp" {
		o.mu.Lock()
		o.next++
		id = o.next
		o.mu.Unlock()
	}
	c.acks[id] = ack
	c.mu.Unlock()
	if o.form == "csharp" {
		c.write(websocket.TextMessage, fmt.Sprintf("42%d[\n  %q,\n  %q\n]", id, pbuffer+name, base64.StdEncoding.EncodeToString(body)))
	} else {
		c.writing.Lock()
		c.ws.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, `451-%d[%q,{"_placeholder":true,"num":0}]`, id, pbuffer+name))
		c.ws.WriteMessage(websocket.BinaryMessage, append([]byte{4}, body...))
		c.writing.Unlock()
	}
	args := <-ack
	var ok bool
	var text string
	if len(args) != 2 || json.Unmarshal(args[0], &ok) != nil || json.Unmarshal(args[1], &text) != nil {
		return false, fmt.Sprintf("the acknowledgement is %s", args)
	}
	return ok, text
}

func (o *oldSDK) post(name string, body Message) (bool, string) {
	r, err := http.NewRequest("POST", "http://localhost:"+o.ports[1]+"/", strings.NewReader(string(body)))
	if err != nil {
		return false, err.Error()
	}
	r.Header.Set("gamelift-target", name)
	r.Header.Set("gamelift-server-pid", strconv.Itoa(os.Getpid()))
	r.Header.Set("Accept", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return false, err.Error()
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return false, err.Error()
	}
	return res.StatusCode/100 == 2, string(text)
}

// Game is how the game server runs.
type Game struct {
	Form  string   // whose messages it sends: cpp, csharp, node, java, csharp4
	Ports []string // where its SDK connects: socket.io, HTTP, WebSocket
	Host  string   // where it listens for those who direct it
	Port  int
}

// Run calls InitSDK and ProcessReady, and then does what it is told, until ctx ends.
func (g Game) Run(ctx context.Context) error {
	o := &oldSDK{form: g.Form, ports: g.Ports, port: g.Port}
	control, err := net.Listen("tcp", net.JoinHostPort(g.Host, strconv.Itoa(g.Port)))
	if err != nil {
		return err
	}
	if err := o.initialize(); err != nil {
		return err
	}
	o.ready(g.Port)
	go func() {
		for {
			c, err := control.Accept()
			if err != nil {
				return
			}
			go o.obey(c)
		}
	}()
	<-ctx.Done()
	return nil
}

// ready is ProcessReady with the first report of health.
func (o *oldSDK) ready(port int) {
	if ok, text := o.call("ProcessReady", Message(nil).Text(1, "/tmp/a.log").Number(2, port)); !ok {
		fmt.Println("ProcessReady:", text)
		os.Exit(4)
	}
	o.call("ReportHealth", Message(nil).Number(1, 1))
}

// obey answers each line by a line.
func (o *oldSDK) obey(c net.Conn) {
	defer c.Close()
	for lines := bufio.NewScanner(c); lines.Scan(); {
		words := strings.Split(lines.Text(), " ")
		switch words[0] {
		case "call":
			body, _ := hex.DecodeString(words[2])
			ok, text := o.call(words[1], body)
			fmt.Fprintln(c, ok, text)
		case "pushes":
			o.mu.Lock()
			text, _ := json.Marshal(o.pushes)
			o.mu.Unlock()
			fmt.Fprintln(c, string(text))
		case "again":
			o.ready(o.port)
			fmt.Fprintln(c, "true")
		case "drop":
			o.mu.Lock()
			old := o.conns
			o.conns = nil
			o.mu.Unlock()
			for _, one := range old {
				one.ws.NetConn().Close()
			}
			fmt.Fprintln(c, o.initialize() == nil)
		case "leave":
			o.call("ProcessEnding", nil)
			os.Exit(0)
		}
	}
}
