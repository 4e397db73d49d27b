package agent

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/agent/disk"
	"github.com/musterhq/muster/agent/relay"
	"github.com/musterhq/muster/hosts/protocol"
)

// relayFile stores the relay's port below Root: processes that outlive an agent connect
// to it again.
const relayFile = "relay.json"

type relayState struct{ Port int }

// startRelay opens the relay, on the port of a former agent if there was one. If it
// cannot be opened, processes connect directly.
func (a *Agent) startRelay(ctx context.Context) (stop func()) {
	if a.opts.Server == "" {
		return func() {}
	}
	path := filepath.Join(a.opts.Root, relayFile)
	var kept relayState
	_ = disk.Read(path, &kept) // without the file a port is picked
	var r *relay.Relay
	o := relay.Options{Dir: a.opts.Root, Port: kept.Port, Sockets: a.opts.Sockets, Resuming: true, Log: a.opts.Log, Dial: func(ctx context.Context) (*websocket.Conn, error) {
		for _, first := range []<-chan struct{}{r.Admitted(), a.identified} {
			select {
			case <-first:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		ws, _, err := a.server.Dial(ctx, protocol.PathRelay, protocol.RelayInParts)
		return ws, err
	}}
	r, err := relay.Listen(o)
	if err != nil && kept.Port != 0 {
		a.log.Error("the relay's port is taken; its game servers cannot come back", "port", kept.Port, "error", err)
		o.Port = 0
		r, err = relay.Listen(o)
	}
	if err != nil {
		a.log.Error("there is no relay; game servers connect directly", "error", err)
		return func() {}
	}
	if err := disk.Write(path, relayState{r.Port()}); err != nil {
		a.log.Warn("the relay's port is not kept", "error", err)
	}
	a.machine.Relay = r
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}
