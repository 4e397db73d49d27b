package console

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/musterhq/muster/internal/fault"
)

// Placements is what the console tells about placements and queues. What the
// functions give is answered as JSON; a fault of kind NotFound is a 404.
type Placements struct {
	Explain func(ctx context.Context, id string) (any, error) // why a placement is where it is
	Queues  func() any                                        // every queue with what is pending in it
	// QueueOf returns the name of a placement's queue, "" where there is no such placement.
	QueueOf func(ctx context.Context, id string) (string, error)
}

// Placements adds to what the console serves; call it before traffic:
//
//	GET /console/api/placements/ID/explain   for whoever may DescribeGameSessionPlacement
//	GET /console/api/queues                  for whoever may DescribeGameSessionQueues
func (c *Console) Placements(p Placements) {
	c.mux.HandleFunc("GET /console/api/placements/{id}/explain", func(w http.ResponseWriter, r *http.Request) {
		if c.refusedOf(w, r, "DescribeGameSessionPlacement", "gamesessionqueue", p.QueueOf) {
			return
		}
		told, err := p.Explain(r.Context(), r.PathValue("id"))
		c.answer(w, told, err)
	})
	c.mux.HandleFunc("GET /console/api/queues", func(w http.ResponseWriter, r *http.Request) {
		if !c.refused(w, r, "DescribeGameSessionQueues") {
			c.answer(w, p.Queues(), nil)
		}
	})
}

// answer writes a value, or what an error says.
func (c *Console) answer(w http.ResponseWriter, v any, err error) {
	f, known := fault.As(err)
	switch {
	case known && f.Kind == fault.NotFound:
		refuse(w, http.StatusNotFound, f.Message)
	case known:
		refuse(w, http.StatusBadRequest, f.Message)
	case err != nil:
		c.opts.Logger.Error("console request failed", "error", err)
		refuse(w, http.StatusInternalServerError, "internal failure")
	default:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		if err := json.NewEncoder(w).Encode(v); err != nil {
			c.opts.Logger.Info("console answer not written", "error", err)
		}
	}
}
