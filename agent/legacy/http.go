package legacy

import (
	"errors"
	"io"
	"net/http"

	"github.com/musterhq/muster/agent/legacy/wire"
)

// serveHTTP serves port 5758.
func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "only POST is served", http.StatusMethodNotAllowed)
		return
	}
	p, ok := s.identify(w, r, r.Header.Get("gamelift-server-pid"))
	if !ok {
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, wire.MaxFrame))
	if err != nil {
		http.Error(w, "the message cannot be read", http.StatusBadRequest)
		return
	}
	if err := p.enter(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer p.answered()
	text, err := p.answer(r.Header.Get("gamelift-target"), body)
	w.Header().Set("Content-Type", "application/json")
	var f *failure
	switch {
	case errors.As(err, &f) && f.status == wire.ServerError:
		w.WriteHeader(http.StatusInternalServerError)
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
	}
	_, _ = w.Write(text) // the program may have gone
}
