package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/agent/instance"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wake"
)

// Times of the link. The agent pings Muster with its periodic Status; a link without
// any frame or pong for too long is dropped.
const (
	silence  = 35 * time.Second      // without a frame or a pong
	writing  = 10 * time.Second      // of one frame
	settled  = time.Minute           // a link that lasted this long resets the backoff
	flicker  = 50 * time.Millisecond // between two Status frames, so that many changes share one
	unjoined = 5 * time.Minute       // between attempts once Muster refuses the credential
)

// errRefused means that Muster does not accept this host's credential.
var errRefused = errors.New("this host's credential is refused; remove it from the agent's folder and join anew")

// errRemoved means that an operator removed this host.
var errRemoved = errors.New("this host was removed from Muster; to join anew, remove credential.json from the agent's folder and give a join token")

// link is the connection to Muster.
type link struct {
	server    *server
	instances *instances
	uploads   *uploads
	reports   *reports
	sampler   *sampler
	facts     *protocol.Facts
	run       string     // identifies this run of the agent to Muster
	changed   wake.Nudge // the status may differ from the one sent last
	exited    wake.Nudge // there are new reports to send
	log       *slog.Logger
}

// keep keeps the link to Muster until ctx ends, or returns errRemoved. Nothing on this
// machine requires the link.
func (l *link) keep(ctx context.Context) error {
	wait := firstWait
	for ctx.Err() == nil {
		began := time.Now()
		err := l.open(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(began) > settled {
			wait = firstWait
		}
		this := jitter(wait)
		if errors.Is(err, errRefused) || errors.Is(err, errRemoved) {
			refused := err
			if err = l.server.rejoin(ctx, refused); err == nil {
				continue
			}
			if errors.Is(err, errRemoved) {
				return err
			}
			this = unjoined
		}
		l.log.Warn("no link to Muster; what runs goes on", "error", err, "again_in", this.Round(time.Millisecond))
		if !wake.Sleep(ctx, this) {
			return nil
		}
		wait = longer(wait)
	}
	return nil
}

// open opens the link once and serves it until it ends.
func (l *link) open(ctx context.Context) error {
	me := l.server.credential()
	ws, res, err := l.server.dial(ctx, protocol.PathHost)
	if err != nil {
		switch {
		case res != nil && res.StatusCode == http.StatusGone:
			return errRemoved
		case res != nil && (res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden):
			return errRefused
		}
		l.server.next()
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
	l.log.Info("linked to Muster", "server", l.server.url(), "host_id", me.HostID)
	select {
	case err = <-failed:
	case <-ctx.Done():
		err = ctx.Err()
	}
	cancel()
	<-written
	ws.Close()
	<-heard // otherwise an older desired state could be applied after one of the next link
	return err
}

// speak sends everything that the agent has to send; only it writes to the socket.
func (l *link) speak(ctx context.Context, ws *websocket.Conn) error {
	send := func(m protocol.Message) error {
		frame, err := protocol.Encode(m)
		if err != nil {
			return err
		}
		ws.SetWriteDeadline(time.Now().Add(writing))
		return ws.WriteMessage(websocket.TextMessage, frame)
	}
	if err := send(protocol.Message{Hello: &protocol.Hello{Facts: *l.facts, Boot: bootID(), Run: l.run}}); err != nil {
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
		case <-l.exited:
			told, err = l.tell(send, told)
		case <-l.changed:
			if !wake.Sleep(ctx, flicker) {
				return ctx.Err()
			}
			told, err = l.say(send, told)
		case <-tick.C:
			l.sampler.sample()
			if told, err = l.say(send, told); err == nil {
				err = ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writing))
			}
		case done := <-l.uploads.done:
			err = send(protocol.Message{LogsStored: &done})
		case <-l.server.secretKept:
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
func (l *link) say(send func(protocol.Message) error, told uint64) (uint64, error) {
	now := l.status()
	told, err := l.tell(send, told)
	if err != nil {
		return told, err
	}
	return told, send(protocol.Message{Status: now})
}

// tell sends the reports after a number and returns the number of the last one sent.
func (l *link) tell(send func(protocol.Message) error, told uint64) (uint64, error) {
	for _, e := range l.reports.after(told) {
		if err := send(protocol.Message{Exited: &e}); err != nil {
			return told, err
		}
		told = e.Seq
	}
	return told, nil
}

// listen handles the messages from Muster.
func (l *link) listen(ctx context.Context, ws *websocket.Conn, alive func() error) error {
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

// obey carries out a message. Work that takes long continues until ctx ends, across
// connections.
func (l *link) obey(ctx context.Context, m protocol.Message) {
	switch {
	case m.Assign != nil:
		l.server.learn(m.Assign.BuildKey)
		if err := l.instances.store(*m.Assign); err != nil {
			l.log.Error("the desired state is not kept; a restart would go on with an older one", "error", err)
		}
		l.instances.assign(*m.Assign)
	case m.Kill != nil:
		if i := l.instances.find(m.Kill.InstanceID); i != nil {
			i.Kill(*m.Kill)
		}
	case m.Collect != nil:
		i := l.instances.find(m.Collect.InstanceID)
		if !instance.ValidID(m.Collect.ProcessID) {
			i = nil
		}
		l.uploads.collect(ctx, i, *m.Collect)
	case m.Secret != nil:
		l.server.renew(m.Secret.Secret)
	case m.Ack != nil:
		if err := l.reports.ack(m.Ack.Seq); err != nil {
			l.log.Warn("report not forgotten", "error", err)
		}
	}
}

// status returns the current state of the machine and of its instances.
func (l *link) status() *protocol.Status {
	return &protocol.Status{Resources: l.sampler.resources(), Instances: l.instances.report()}
}
