package wrap

import (
	"fmt"

	"github.com/musterhq/muster/agent/gameapi"
)

// serve opens the HTTP interface for the program. The first call of ready makes the program
// one that manages itself: it activates its game session, and accepts its players.
func (w *wrapper) serve() (stop func()) {
	s, err := gameapi.Listen(gameapi.Options{Address: fmt.Sprintf("127.0.0.1:%d", w.o.GamePort), Log: w.o.Log})
	if err != nil {
		w.o.Log.Warn("the program has no HTTP interface", "error", err)
		return func() {}
	}
	w.api, w.token = s, gameapi.NewToken()
	w.process.Store(s.Wrap(gameapi.Admission{
		FleetID: w.o.FleetID, HostID: w.o.HostID, ProcessID: w.o.ProcessID, Token: w.token, Port: w.o.Port,
	}, gameapi.Wrapping{Muster: w.link, Managed: w.manage}))
	return func() { s.Close() }
}

// manage has live know that the program manages itself.
func (w *wrapper) manage() {
	select {
	case w.managed <- struct{}{}:
	default:
	}
}

// healthy reports whether the program says nothing else.
func (w *wrapper) healthy() bool {
	p := w.process.Load()
	return p == nil || p.Healthy()
}
