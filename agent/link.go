package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/hosts/protocol"
)

// Times of the link. The agent pings Muster with its periodic Status; a link without
// any frame or pong for too long is dropped.
const (
	silence  = 35 * time.Second      // without a frame or a pong
	writing  = 10 * time.Second      // of one frame
	shaking  = 20 * time.Second      // of the handshake
	settled  = time.Minute           // a link that lasted this long resets the backoff
	flicker  = 50 * time.Millisecond // between two Status frames, so that many changes share one
	unjoined = 5 * time.Minute       // between attempts once Muster refuses the credential
)

// errRefused means that Muster does not accept this host's credential.
var errRefused = errors.New("this host's credential is refused; remove it from the agent's folder and join anew")

// errRemoved means that an operator removed this host.
var errRemoved = errors.New("this host was removed from Muster; to join anew, remove credential.json from the agent's folder and give a join token")

// stayLinked keeps a link to Muster until ctx ends, or returns errRemoved. Nothing on
// this machine requires the link.
func (a *Agent) stayLinked(ctx context.Context) error {
	wait := firstWait
	for ctx.Err() == nil {
		began := time.Now()
		err := a.link(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(began) > settled {
			wait = firstWait
		}
		this := jitter(wait)
		if errors.Is(err, errRefused) || errors.Is(err, errRemoved) {
			refused := err
			if err = a.rejoin(ctx, refused); err == nil {
				continue
			}
			if errors.Is(err, errRemoved) {
				return err
			}
			this = unjoined
		}
		a.log.Warn("no link to Muster; what runs goes on", "error", err, "again_in", this.Round(time.Millisecond))
		if !pause(ctx, this) {
			return nil
		}
		wait = longer(wait)
	}
	return nil
}

// link opens one link and serves it until it ends.
func (a *Agent) link(ctx context.Context) error {
	dialer := websocket.Dialer{HandshakeTimeout: shaking, TLSClientConfig: a.opts.TLS, Proxy: http.ProxyFromEnvironment}
	url := "ws" + strings.TrimPrefix(a.server(), "http") + protocol.PathHost
	me := a.identity()
	ws, res, err := dialer.DialContext(ctx, url, http.Header{"Authorization": {me.bearer()}})
	if err != nil {
		switch {
		case res != nil && res.StatusCode == http.StatusGone:
			return errRemoved
		case res != nil && (res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden):
			return errRefused
		}
		a.nextServer()
		return fmt.Errorf("connect: %w", err)
	}
	defer ws.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ws.SetReadLimit(protocol.MaxFrame)
	alive := func() error { return ws.SetReadDeadline(time.Now().Add(silence)) }
	ws.SetPongHandler(func(string) error { return alive() })
	if err := alive(); err != nil {
		return err
	}
	failed := make(chan error, 2)
	written, heard := make(chan struct{}), make(chan struct{})
	go func() { defer close(written); failed <- a.speak(ctx, ws) }()
	go func() { defer close(heard); failed <- a.listen(ws, alive) }()
	a.log.Info("linked to Muster", "server", a.server(), "host_id", me.HostID)
	select {
	case err = <-failed:
	case <-ctx.Done():
		err = ctx.Err()
	}
	cancel()
	<-written
	ws.Close()
	<-heard // otherwise an older wish could be applied after one of the next link
	return err
}

// speak sends everything that the agent has to send; only it writes to the socket.
func (a *Agent) speak(ctx context.Context, ws *websocket.Conn) error {
	send := func(m protocol.Message) error {
		frame, err := protocol.Encode(m)
		if err != nil {
			return err
		}
		ws.SetWriteDeadline(time.Now().Add(writing))
		return ws.WriteMessage(websocket.TextMessage, frame)
	}
	if err := send(protocol.Message{Hello: &protocol.Hello{Facts: a.opts.Facts, Boot: bootID(), Run: a.run}}); err != nil {
		return err
	}
	var told uint64
	tick := time.NewTicker(protocol.Period)
	defer tick.Stop()
	nudge(a.changed)
	nudge(a.exited)
	for {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-a.exited:
			told, err = a.tell(send, told)
		case <-a.changed:
			if !pause(ctx, flicker) {
				return ctx.Err()
			}
			err = send(protocol.Message{Status: a.status()})
		case <-tick.C:
			a.sampler.sample()
			err = errors.Join(send(protocol.Message{Status: a.status()}),
				ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writing)))
		case done := <-a.stored:
			err = send(protocol.Message{LogsStored: &done})
		case <-a.secretKept:
			err = send(protocol.Message{SecretKept: &protocol.SecretKept{}})
		}
		if err != nil {
			return fmt.Errorf("send: %w", err)
		}
	}
}

// tell sends the reports after a number and returns the number of the last one sent.
func (a *Agent) tell(send func(protocol.Message) error, told uint64) (uint64, error) {
	for _, e := range a.reports.after(told) {
		if err := send(protocol.Message{Exited: &e}); err != nil {
			return told, err
		}
		told = e.Seq
	}
	return told, nil
}

// listen handles the messages from Muster.
func (a *Agent) listen(ws *websocket.Conn, alive func() error) error {
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
		a.obey(m)
	}
}

func (a *Agent) obey(m protocol.Message) {
	switch {
	case m.Assign != nil:
		a.learn(m.Assign.BuildKey)
		a.assign(*m.Assign)
	case m.Kill != nil:
		if i := a.find(m.Kill.InstanceID); i != nil {
			i.kill(*m.Kill)
		}
	case m.Collect != nil:
		a.collect(*m.Collect)
	case m.Secret != nil:
		a.renew(m.Secret.Secret)
	case m.Ack != nil:
		if err := a.reports.ack(m.Ack.Seq); err != nil {
			a.log.Warn("report not forgotten", "error", err)
		}
	}
}

// status returns the current state of the machine and of its instances.
func (a *Agent) status() *protocol.Status {
	s := &protocol.Status{Resources: a.sampler.resources(), Instances: []protocol.Instance{}}
	for _, i := range a.all() {
		if i.own == nil {
			s.Instances = append(s.Instances, i.report())
		}
	}
	return s
}
