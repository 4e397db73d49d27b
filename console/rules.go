package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/fault"
)

// Rules has the functions of the rules lab.
type Rules struct {
	// Check returns what is wrong with the body of a rule set and what it does, sent as
	// JSON.
	Check func(body string) any
	// Templates returns rule sets to begin with, sent as JSON.
	Templates func() any
	// Simulate plays two rule sets. It calls tell often, and ends if tell or ctx does. Calls
	// are never concurrent.
	Simulate func(ctx context.Context, in *Simulation, tell func(Progress) error) (any, error)
}

// Simulation is a request to play two rule sets on the same tickets, or one alone.
type Simulation struct {
	A             string          `json:"a"`             // body of a rule set; without it B is played alone
	B             string          `json:"b"`             // body of the other
	Configuration string          `json:"configuration"` // whose tickets are played; without Since it is not used
	Since         *time.Time      `json:"since"`         // tickets from that time on are played; nil draws them from Players
	Players       json.RawMessage `json:"players"`       // a specification (docs/simulation.md)
	Minutes       float64         `json:"minutes"`       // how long drawn tickets come
	Seed          uint64          `json:"seed"`
	Runs          int             `json:"runs"` // with a seed each, or stretches of the trace
}

// Progress is the state of a simulation.
type Progress struct {
	Done   float64 `json:"done"`                  // share, 0 to 1
	Left   float64 `json:"left_seconds,omitzero"` // estimated
	Run    int     `json:"run"`                   // from 1
	Runs   int     `json:"runs"`
	InPlay int     `json:"in_play"` // tickets
}

const (
	maxRules = 512 << 10 // bytes of a request with rule sets
	// progressEvery is how often a simulation's state is sent.
	progressEvery = 500 * time.Millisecond
)

// Rules adds these routes, and must be called before the console serves requests:
//
//	POST /console/api/rules/check   {"body"}: requires DescribeMatchmaking
//	GET  /console/api/rules/templates   rule sets to begin with: requires DescribeMatchmaking
//	POST /console/api/simulations   a Simulation: the same, on its configuration; JSON lines,
//	                                {"progress"} twice a second and {"result"} or {"error"} at the end
func (c *Console) Rules(rules Rules) {
	c.mux.HandleFunc("POST /console/api/rules/check", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Body string `json:"body"`
		}
		if c.readJSON(w, r, &in, func() []string { return nil }) {
			c.answer(w, rules.Check(in.Body), nil)
		}
	})
	c.mux.HandleFunc("GET /console/api/rules/templates", func(w http.ResponseWriter, r *http.Request) {
		if !c.refused(w, r, "DescribeMatchmaking") {
			c.answer(w, rules.Templates(), nil)
		}
	})
	running := make(chan struct{}, 1) // holds a token while a simulation runs
	c.mux.HandleFunc("POST /console/api/simulations", func(w http.ResponseWriter, r *http.Request) {
		var in Simulation
		of := func() []string {
			if in.Configuration == "" {
				return nil
			}
			return []string{c.resource(configuration, in.Configuration)}
		}
		if !c.readJSON(w, r, &in, of) {
			return
		}
		select {
		case running <- struct{}{}:
			defer func() { <-running }()
		default:
			w.Header().Set("Retry-After", "5")
			refuse(w, http.StatusServiceUnavailable, "another simulation is running on this server, which is the bound; try again when it has ended")
			return
		}
		c.simulate(w, r, &rules, &in)
	})
}

// readJSON reads the body of a request to read about matchmaking. It returns false after
// refusing it. The body is decoded once the sender is authenticated; then of returns the
// resources.
func (c *Console) readJSON(w http.ResponseWriter, r *http.Request, into any, of func() []string) bool {
	var body bytes.Buffer
	if err := door.ReadBody(r, &body, maxRules); err != nil {
		if errors.As(err, new(*http.MaxBytesError)) {
			refuse(w, http.StatusRequestEntityTooLarge, "the body must have at most 512 KiB")
			return false
		}
		refuse(w, http.StatusBadRequest, "the body was not received: "+err.Error())
		return false
	}
	_, err := c.opts.AllowBodyOf(r, body.Bytes(), "DescribeMatchmaking", func(context.Context) ([]string, error) {
		d := json.NewDecoder(bytes.NewReader(body.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(into); err != nil {
			return nil, fault.Invalid("the body is not what is expected: %s", err)
		}
		return of(), nil
	})
	return !c.denied(w, err)
}

// simulate sends the progress and the result of a simulation. It ends with the request.
func (c *Console) simulate(w http.ResponseWriter, r *http.Request, rules *Rules, in *Simulation) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() {
		select {
		case <-c.closing:
			cancel()
		case <-ctx.Done():
		}
	}()
	out := newLineWriter(w)
	defer out.end()
	var sent time.Time
	send := func(v any) error {
		if sent.IsZero() {
			w.Header().Set("Content-Type", "application/x-ndjson")
			w.Header().Set("Cache-Control", "no-store")
		}
		sent = time.Now()
		if err := out.begin(); err != nil {
			return err
		}
		if err := out.line(v); err != nil {
			return err
		}
		return out.ctl.Flush()
	}
	result, err := rules.Simulate(ctx, in, func(p Progress) error {
		if time.Since(sent) < progressEvery {
			return nil
		}
		return send(map[string]Progress{"progress": p})
	})
	switch {
	case r.Context().Err() != nil:
		return // nobody waits for the answer
	case err != nil && sent.IsZero():
		c.answer(w, nil, err)
		return
	case err != nil:
		text := "the server is stopping"
		if !errors.Is(err, context.Canceled) {
			text, _ = c.told(err)
		}
		err = send(map[string]string{"error": text})
	default:
		err = send(map[string]any{"result": result})
	}
	if err != nil {
		c.opts.Logger.Info("simulation's answer not written", "error", err)
	}
}
