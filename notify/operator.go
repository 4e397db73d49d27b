package notify

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/limit"
	"github.com/musterhq/muster/internal/store"
)

// Operators need the actions on queues.
const (
	mayRead   = "DescribeGameSessionQueues"
	mayChange = "UpdateGameSessionQueue"
	mayTell   = auth.ReadPlayerSessionIDs // notices contain these
)

// guard serves requests whose sender is allowed the action, in the sender's name. The audit
// log gets the name of the sink.
func (h handler) guard(action auth.Action, serve func(*http.Request, url.Values) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if h.allow == nil {
			refuse(w, http.StatusForbidden, "nobody may ask this here")
			return
		}
		caller, err := h.allow(r, action)
		audit.From(r.Context()).AddResources(func() []string { return r.URL.Query()["sink"] })
		if err != nil {
			h.fail(w, err)
			return
		}
		r = r.WithContext(store.WithActor(r.Context(), caller.Actor()))
		answer, err := serve(r, r.URL.Query())
		if err != nil {
			h.fail(w, err)
			return
		}
		if notices, ok := answer.([]jsontext.Value); ok { // as JSON lines
			w.Header().Set("Content-Type", "application/x-ndjson")
			w.Header().Set("Cache-Control", "no-store")
			for _, line := range notices {
				w.Write(append(line, '\n'))
			}
			return
		}
		writeJSON(w, http.StatusOK, answer)
	}
}

func (h handler) fail(w http.ResponseWriter, err error) {
	f, ok := fault.As(err)
	limit.Advise(w.Header(), err)
	switch {
	case ok && f.Kind == fault.Throttling && f.Wait > 0:
		refuse(w, http.StatusTooManyRequests, f.Message)
	case !ok || f.Kind == fault.InternalService || f.Kind == fault.Throttling:
		h.log.Error("request about notifications failed", "error", err)
		refuse(w, http.StatusServiceUnavailable, "try again; the log of the server tells why")
	default:
		refuse(w, f.Kind.HTTPStatus(), f.Message)
	}
}

func refuse(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, map[string]string{"message": message})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic("notify: an answer does not encode: " + err.Error()) // it is a plain struct
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(append(text, '\n'))
}

// Recent returns the last n notices, oldest first, as EventBridge JSON, regardless of
// the sinks; n is 1 to 1000.
func (s *Service) Recent(ctx context.Context, n int) ([]jsontext.Value, error) {
	entries, err := s.events.Read(ctx, event.Query{Notices: true, NewestFirst: true, Limit: n})
	if err != nil {
		return nil, err
	}
	slices.Reverse(entries)
	var notices []jsontext.Value
	for _, e := range entries {
		body, err := envelope(s.opts.Home, e.Value)
		if err != nil {
			return nil, err
		}
		notices = append(notices, body)
	}
	return notices, nil
}

func (h handler) serveRecent(r *http.Request, v url.Values) (any, error) {
	n, err := number(v, "n", 20, 1, 1000)
	if err != nil {
		return nil, err
	}
	return h.svc.Recent(r.Context(), int(n))
}

// SinkStatus is the state of a sink.
type SinkStatus struct {
	SinkConfig
	Seq           uint64               `json:"seq"`         // of the event log; everything up to it is delivered or dead
	LagSeconds    float64              `json:"lag_seconds"` // age of the oldest notice that waits
	Failures      int                  `json:"failures"`    // consecutive
	Attempts      Attempts             `json:"attempts"`
	DeadLetters   int                  `json:"dead_letters"`
	Subscriptions []SubscriptionStatus `json:"subscriptions,omitzero"` // of kind sns
}

// SubscriptionStatus is a subscription without what only its endpoint may know.
type SubscriptionStatus struct {
	Topic   string    `json:"topic"`
	Status  Status    `json:"status"`
	Changed time.Time `json:"changed"`
}

// Status returns the state of the sinks, in the order of the configuration. URLs are
// without passwords and queries.
func (s *Service) Status() []SinkStatus {
	view := s.st.View()
	all := []SinkStatus{}
	for _, k := range s.current() {
		st := SinkStatus{SinkConfig: k.cfg, LagSeconds: k.lag(time.Now()).Seconds(), Failures: k.inTrouble(), Attempts: k.made.counted()}
		st.URL = bareURL(k.cfg.URL)
		if c := s.t.cursors.Get(view, k.cfg.Name); c != nil {
			st.Seq = c.Seq
		}
		st.DeadLetters = s.t.deadOf.Count(view, k.cfg.Name)
		for _, topic := range k.cfg.Topics {
			if sub := s.subs.of(view, k.cfg.Name, topic); sub != nil {
				st.Subscriptions = append(st.Subscriptions, SubscriptionStatus{sub.Topic, sub.Status, sub.Changed})
			}
		}
		all = append(all, st)
	}
	return all
}

// bareURL returns a URL without the parts that may be secret.
func bareURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || raw == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host + u.Path
}

func (h handler) serveSinks(*http.Request, url.Values) (any, error) {
	return map[string]any{"sinks": h.svc.Status()}, nil
}

func (h handler) serveDeadLetters(_ *http.Request, v url.Values) (any, error) {
	after, err := number(v, "after", 0, 0, maxSeq)
	if err != nil {
		return nil, err
	}
	limit, err := number(v, "limit", 100, 1, 1000)
	if err != nil {
		return nil, err
	}
	letters, err := h.svc.DeadLetters(v.Get("sink"), after, int(limit))
	return map[string]any{"dead_letters": letters}, err
}

func (h handler) serveReplay(r *http.Request, v url.Values) (any, error) {
	if !v.Has("from") {
		return nil, fault.Invalid("from: the sequence number to begin with is missing; 0 is the oldest event kept")
	}
	from, err := number(v, "from", 0, 0, maxSeq)
	if err == nil {
		err = h.svc.ReplayFrom(r.Context(), v.Get("sink"), from)
	}
	return map[string]any{"sink": v.Get("sink"), "from": from}, err
}

// maxRedeliver limits the numbers in one request.
const maxRedeliver = 1000

func (h handler) serveRedeliver(r *http.Request, v url.Values) (any, error) {
	if len(v["seq"]) > maxRedeliver {
		return nil, fault.Invalid("seq: %d numbers, at most %d; none means all", len(v["seq"]), maxRedeliver)
	}
	var seqs []uint64
	for _, text := range v["seq"] {
		seq, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			return nil, fault.Invalid("seq: %.40q is no sequence number", text)
		}
		seqs = append(seqs, seq)
	}
	n, err := h.svc.Redeliver(r.Context(), v.Get("sink"), seqs...)
	return map[string]any{"sink": v.Get("sink"), "redelivering": n}, err
}

func (h handler) serveSubscribe(r *http.Request, v url.Values) (any, error) {
	return map[string]any{"sink": v.Get("sink"), "status": Pending}, h.svc.Subscribe(r.Context(), v.Get("sink"))
}

const maxSeq = 1<<63 - 1

// number parses a parameter; its error names the parameter.
func number(v url.Values, name string, absent, least, most uint64) (uint64, error) {
	text := v.Get(name)
	if text == "" {
		return absent, nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || n < least || n > most {
		return 0, fault.Invalid("%s: %.40q is no number from %d to %d", name, text, least, most)
	}
	return n, nil
}
