package console

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/musterhq/muster/internal/fault"
)

// Placements has the functions for requests about placements and queues. Their results
// are sent as JSON; a fault of kind NotFound becomes a 404.
type Placements struct {
	Explain func(ctx context.Context, id string) (any, error) // returns how a placement was decided so far
	Queues  func() any                                        // returns all queues with their pending placements
	// QueueOf returns the name of a placement's queue, "" if the placement does not
	// exist.
	QueueOf func(ctx context.Context, id string) (string, error)
}

// Placements adds these routes, and must be called before the console serves requests:
//
//	GET /console/api/placements/ID/explain   requires DescribeGameSessionPlacement
//	GET /console/api/queues                  requires DescribeGameSessionQueues
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

// answer responds with a value, or with an error if err is not nil.
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

// told returns what a caller is told of an error, and whether what it asked for does not
// exist.
func (c *Console) told(err error) (text string, gone bool) {
	if f, ok := fault.As(err); ok {
		return f.Message, f.Kind == fault.NotFound
	}
	c.opts.Logger.Error("console request failed", "error", err)
	return "internal failure", false
}
