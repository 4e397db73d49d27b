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

// checkPort names a program that opens nothing: players cannot reach it.
func (w *wrapper) checkPort() {
	if w.o.Port == 0 || w.manages {
		return
	}
	if open, known := listens(w.o.Port); open || !known {
		return
	}
	w.o.Log.Warn(fmt.Sprintf("The program has run for %s and listens on no port %d, which is where players are sent. "+
		"Have it listen there: the number is in GAME_PORT, and {{.GamePort}} in its arguments stands for it.", w.o.Opens, w.o.Port))
}
