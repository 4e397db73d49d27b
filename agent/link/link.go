package link

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/release"
	"github.com/musterhq/muster/internal/wake"
)

// Times of the link. The agent pings Muster with its periodic Status; a link without
// any frame or pong for too long is dropped.
const (
	silence  = 35 * time.Second // without a frame or a pong
	writing  = 10 * time.Second // of one frame
	settled  = time.Minute      // a link that lasted this long resets the backoff, as does a server that says that it stops
	unjoined = 5 * time.Minute  // between attempts once Muster refuses the credential
)

// Flicker is the usual time between two Status frames, so that many changes share one.
const Flicker = 50 * time.Millisecond

// ErrRefused means that Muster does not accept this host's credential.
var ErrRefused = errors.New("this host's credential is refused")

// ErrRemoved means that an operator removed this host.
var ErrRemoved = errors.New("this host was removed from Muster")

// Host is what a link connects to Muster. Its methods may be called at the same time.
type Host interface {
	// Sample is called every protocol.Period, to measure what Status reports.
	Sample()
	// Status returns the current state of the host, or nil while it is not known.
	Status() *protocol.Status
	// Exits returns the reports with numbers above seq that Muster has not acknowledged,
	// oldest first.
	Exits(seq uint64) []protocol.Exited
	// Obey carries out a message from Muster: Assign, Kill, Collect, Ack, Shell or Tail. Work that
	// takes long continues until ctx ends, across connections.
	Obey(ctx context.Context, m protocol.Message)
	// LogsStored is the channel of results of Collect.
	LogsStored() <-chan protocol.LogsStored
	// Tailed is the channel of answers to Tail; nil: there are none.
	Tailed() <-chan protocol.Tailed
}

// Link is the connection to Muster. Create it with New, and call Keep once.
type Link struct {
	opts    LinkOptions
	run     string     // identifies this run of the agent to Muster
	changed wake.Nudge // the status may differ from the one sent last
	exited  wake.Nudge // there are new reports to send
	hello   wake.Nudge // the facts differ from those sent last
}

// LinkOptions configure a Link.
type LinkOptions struct {
	Server *Server
	Host   Host
	Run    string        // identifies this run of the agent to Muster; default: a random one
	Boot   string        // id of the machine's current boot; "" if the system has none
	Pause  time.Duration // between two Status frames: Flicker, or longer if they are large
	Log    *slog.Logger
}

// New returns a link that is not open yet.
func New(o LinkOptions) *Link {
	return &Link{opts: o, run: cmp.Or(o.Run, rand.Text()), changed: wake.NewNudge(), exited: wake.NewNudge(), hello: wake.NewNudge()}
}

// Changed has the status sent, since it may differ from the one sent last.
func (l *Link) Changed() { l.changed.Send() }

// Exited has new reports sent.
func (l *Link) Exited() { l.exited.Send() }

// FactsChanged has the facts sent again.
func (l *Link) FactsChanged() { l.hello.Send() }

// Keep keeps the link to Muster until ctx ends, or returns an error that wraps
// ErrRemoved. Nothing on this
// machine requires the link.
func (l *Link) Keep(ctx context.Context) error {
	wait := FirstWait
	for ctx.Err() == nil {
		began := time.Now()
		err := l.open(ctx)
		if ctx.Err() != nil {
			return nil
		}
		planned := stops(err)
		if planned || time.Since(began) > settled {
			wait = FirstWait
		}
		this := Jitter(wait)
		if errors.Is(err, ErrRefused) || errors.Is(err, ErrRemoved) {
			refused := err
			if err = l.opts.Server.rejoin(ctx, refused); err == nil {
				continue
			}
			if errors.Is(err, ErrRemoved) {
				return err
			}
			this = unjoined
		}
		level := slog.LevelWarn
		if planned {
			level = slog.LevelInfo
		}
		l.opts.Log.Log(ctx, level, "no link to Muster; what runs goes on", "error", err, "again_in", this.Round(time.Millisecond))
		if !wake.Sleep(ctx, this) {
			return nil
		}
		wait = Longer(wait)
	}
	return nil
}

// stops reports whether a link ended because Muster said that it stops.
func stops(err error) bool {
	var closed *websocket.CloseError
	return errors.As(err, &closed) && closed.Code == websocket.CloseGoingAway
}

// open opens the link once and serves it until it ends.
func (l *Link) open(ctx context.Context) error {
	me := l.opts.Server.Credential()
	ws, res, err := l.opts.Server.Dial(ctx, protocol.PathHost)
	if err != nil {
		switch {
		case res != nil && res.StatusCode == http.StatusGone:
			return fmt.Errorf("%w; to join anew, remove %s and give a join token", ErrRemoved, l.opts.Server.opts.Keeper.Place())
		case res != nil && (res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden):
			return fmt.Errorf("%w; remove %s and join anew", ErrRefused, l.opts.Server.opts.Keeper.Place())
		}
		l.opts.Server.next()
		return fmt.Errorf("connect: %w", err)
	}
	defer ws.Close()
	ws.SetReadLimit(protocol.MaxFrame)
	alive := func() error { return ws.SetReadDeadline(time.Now().Add(silence)) }
	ws.SetPongHandler(func(string) error { return alive() })
	if err := alive(); err != nil {
		return err
	}
	failed := make(chan error, 2)
	written, heard := make(chan struct{}), make(chan struct{})
	speaking, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { defer close(written); failed <- l.speak(speaking, ws) }()
	go func() { defer close(heard); failed <- l.listen(ctx, ws, alive) }()
	l.opts.Log.Info("linked to Muster", "server", l.opts.Server.url(), "host_id", me.HostID, "release", res.Header.Get(protocol.HeaderRelease))
	if why := release.Unsupported(release.Number(), res.Header.Get(protocol.HeaderRelease)); why != "" {
		l.opts.Log.Warn("this agent is not supported with this server; it works as far as both know the same", "reason", "the agent's release and the server's: "+why)
	}
	select {
	case err = <-failed:
	case <-ctx.Done():
		err = ctx.Err()
	}
	cancel()
	<-written
	ws.Close()
	<-heard // otherwise an older desired state could be applied after one of the next link
	select {
	case also := <-failed: // writing may fail before the last frame is read
		if stops(also) {
			return also
		}
	default:
	}
	return err
}

// speak sends everything that the agent has to send; only it writes to the socket.
func (l *Link) speak(ctx context.Context, ws *websocket.Conn) error {
	send := func(m protocol.Message) error {
		frame, err := protocol.Encode(m)
		if err != nil {
			return err
		}
		ws.SetWriteDeadline(time.Now().Add(writing))
		return ws.WriteMessage(websocket.TextMessage, frame)
	}
	hello := func() error {
		return send(protocol.Message{Hello: &protocol.Hello{Facts: l.opts.Server.opts.Facts(), Boot: l.opts.Boot, Run: l.run}})
	}
	if err := hello(); err != nil {
		return err
	}
	var told uint64
	tick := time.NewTicker(protocol.Period)
	defer tick.Stop()
	l.changed.Send()
	l.exited.Send()
	for {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.hello:
			err = hello()
		case <-l.exited:
			told, err = l.tell(send, told)
		case <-l.changed:
			if !wake.Sleep(ctx, l.opts.Pause) {
				return ctx.Err()
			}
			told, err = l.say(send, told)
		case <-tick.C:
			l.opts.Host.Sample()
			if told, err = l.say(send, told); err == nil {
				err = ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writing))
			}
		case done := <-l.opts.Host.LogsStored():
			err = send(protocol.Message{LogsStored: &done})
		case tailed := <-l.opts.Host.Tailed():
			err = send(protocol.Message{Tailed: &tailed})
		case <-l.opts.Server.secretKept:
			err = send(protocol.Message{SecretKept: &protocol.SecretKept{}})
		}
		if err != nil {
			return fmt.Errorf("send: %w", err)
		}
	}
}

// say sends the status, after the reports of the processes that it no longer lists: Muster
// counts a process that is neither listed nor reported as crashed. It returns the number of
// the last report sent.
func (l *Link) say(send func(protocol.Message) error, told uint64) (uint64, error) {
	now := l.opts.Host.Status()
	if now == nil {
		return told, nil
	}
	told, err := l.tell(send, told)
	if err != nil {
		return told, err
	}
	return told, send(protocol.Message{Status: now})
}

// tell sends the reports after a number and returns the number of the last one sent.
func (l *Link) tell(send func(protocol.Message) error, told uint64) (uint64, error) {
	for _, e := range l.opts.Host.Exits(told) {
		if err := send(protocol.Message{Exited: &e}); err != nil {
			return told, err
		}
		told = e.Seq
	}
	return told, nil
}

// listen handles the messages from Muster.
func (l *Link) listen(ctx context.Context, ws *websocket.Conn, alive func() error) error {
	for {
		_, frame, err := ws.ReadMessage()
		if err != nil {
			return fmt.Errorf("receive: %w", err)
		}
		if err := alive(); err != nil {
			return err
		}
		m, err := protocol.Decode(frame)
		if err != nil {
			return err
		}
		l.obey(ctx, m)
	}
}

// obey carries out a message. Those that are not about the credential are the host's.
func (l *Link) obey(ctx context.Context, m protocol.Message) {
	switch {
	case m.Secret != nil:
		l.opts.Server.renew(ctx, m.Secret.Secret)
	case m.Assign != nil:
		l.opts.Server.learn(ctx, m.Assign.BuildKey)
		l.opts.Host.Obey(ctx, m)
	default:
		l.opts.Host.Obey(ctx, m)
	}
}
