package agent

import (
	"fmt"
	"path/filepath"

	"github.com/musterhq/muster/agent/disk"
	"github.com/musterhq/muster/agent/gameapi"
)

// gameAPIFile stores the port of the HTTP interface below Root: processes that outlive an
// agent use it again.
const gameAPIFile = "gameapi.json"

type gameAPIState struct{ Port uint16 }

// startGameAPI opens the HTTP interface for programs without a Server SDK, on the port of a
// former agent if there was one. If it cannot be opened, there is none.
func (a *Agent) startGameAPI() (stop func()) {
	path := filepath.Join(a.opts.Root, gameAPIFile)
	var kept gameAPIState
	_ = disk.Read(path, &kept) // without the file a port is picked
	o := gameapi.Options{Address: fmt.Sprintf("127.0.0.1:%d", kept.Port), TLS: a.opts.TLS, Sockets: a.opts.Sockets, Log: a.opts.Log, Resuming: true}
	s, err := gameapi.Listen(o)
	if err != nil && kept.Port != 0 {
		a.log.Error("the port of the HTTP interface is taken; the game servers that use it cannot come back", "port", kept.Port, "error", err)
		o.Address = "127.0.0.1:0"
		s, err = gameapi.Listen(o)
	}
	if err != nil {
		a.log.Error("there is no HTTP interface for game servers", "error", err)
		return func() {}
	}
	if err := disk.Write(path, gameAPIState{s.Address().Port()}); err != nil {
		a.log.Warn("the port of the HTTP interface is not kept", "error", err)
	}
	a.machine.Game = s
	a.machine.Jailer.Allow(s.Address())
	return func() {
		if err := s.Close(); err != nil {
			a.log.Warn("the HTTP interface is not closed", "error", err)
		}
	}
}
