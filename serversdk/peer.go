package serversdk

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/musterhq/muster/compute"
)

// peer is one process as this node knows it. There is one for each idle process, so its
// size matters.
type peer struct {
	s   *Server
	key string

	// presence orders the opening and closing of connections, so that the store
	// learns of them in that order. It is held while the store writes.
	presence sync.Mutex
	attached int32 // connections that are open or being opened
	gone     bool  // replaced by another peer for the process

	mu         sync.Mutex
	conns      []*conn       // open, newest last
	held       []push        // for the next connection
	signedFrom string        // host of the last good signature
	messages   *rate.Limiter // nil while nothing is taken from it
	replies    replies
	health     health
	overSince  time.Time // when the sweep first saw that the process had ended
}

// ref returns the identity of the process. Its parts share the memory of the key.
func (p *peer) ref() compute.Ref { return compute.ParseRef(p.key) }

// mayAsk reports whether the process's limit of requests allows one more.
func (p *peer) mayAsk() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.messages == nil {
		p.messages = rate.NewLimiter(rate.Limit(p.s.opts.MessageRate), p.s.opts.MessageBurst)
	}
	return p.messages.Allow()
}

// errGone says that the peer was forgotten while a connection to it was being opened.
var errGone = errors.New("the peer is gone")

// attach records a connection in the store before it is opened.
func (p *peer) attach(ctx context.Context, a arrival) error {
	p.presence.Lock()
	defer p.presence.Unlock()
	if p.gone {
		return errGone
	}
	if _, err := p.s.opts.Computes.Connect(ctx, compute.ConnectInput{Ref: p.ref(), Key: p.key, SDK: a.sdk, Hosts: a.hosts}, p); err != nil {
		if p.attached == 0 && !p.lives() {
			p.s.forget(p)
		}
		return err
	}
	p.attached++
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.query.Get("Authorization") == "SigV4" {
		p.signedFrom = a.host
	}
	return nil
}

// depart records that a connection has closed.
func (p *peer) depart(ctx context.Context) {
	p.presence.Lock()
	defer p.presence.Unlock()
	p.attached--
	p.settle(ctx)
}

// settle records the loss of the last connection, if it is. presence must be held.
func (p *peer) settle(ctx context.Context) {
	if p.attached > 0 || ctx.Err() != nil {
		return
	}
	if !p.lives() {
		p.s.forget(p)
		return
	}
	if row := p.row(); row == nil || !row.Connected {
		return
	}
	if err := p.s.opts.Computes.Disconnect(ctx, p.ref()); err != nil {
		p.s.log.Error("process not marked as disconnected, trying again", "process", p.key, "error", err)
	}
}

// open makes a connection the newest one and sends what waited for it.
func (p *peer) open(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, c)
	p.health.heard = time.Now()
	p.flush()
}

// close removes a connection; pushes that it did not try to write move elsewhere.
func (p *peer) close(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = slices.DeleteFunc(p.conns, func(other *conn) bool { return other == c })
	p.held = append(c.untried(), p.held...)
	p.flush()
}

// each calls do for every open connection.
func (p *peer) each(do func(*conn)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		do(c)
	}
}

func (p *peer) lives() bool { return p.s.opts.Computes.Lives(p.s.opts.Store.View(), p.ref()) }

// row returns the process as stored, or nil.
func (p *peer) row() *compute.Process {
	return p.s.opts.Computes.Process(p.s.opts.Store.View(), p.key)
}
