package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/shape"
)

// raw is a value that encoders would refuse.
type raw struct{ json, cbor string }

// MarshalJSON returns the JSON form.
func (r raw) MarshalJSON() ([]byte, error) { return []byte(r.json), nil }

// MarshalCBOR returns the CBOR form.
func (r raw) MarshalCBOR() ([]byte, error) { return []byte(r.cbor), nil }

// hostile generates values that no well-meaning client would send.
type hostile struct {
	generator
	world *world
}

// of returns hostile values of a type, down to a depth.
func (h hostile) of(t shape.Type, depth int) []any {
	all := []any{nil}
	switch t.Kind {
	case shape.String:
		return append(all, h.texts(t)...)
	case shape.Boolean:
		return append(all, true, false)
	case shape.Integer, shape.Long, shape.Float, shape.Double:
		return append(all, numbers(t)...)
	case shape.Timestamp:
		return append(all, 0, -1, 1e17, -1e17, 1e308, 253402300800.0, int64(math.MaxInt64), int64(math.MinInt64),
			cbor.Tag{Number: 1, Content: 1e308}, cbor.Tag{Number: 1, Content: int64(math.MinInt64)})
	case shape.Blob:
		return append(all, []byte{}, []byte("PK\x03\x04"), archiveLies)
	case shape.List:
		return append(all, h.lists(t, depth)...)
	case shape.Map:
		return append(all, h.maps(t, depth)...)
	}
	return append(all, h.structures(t, depth)...)
}

// archiveLies is the end of a zip file that claims files it does not have.
var archiveLies = []byte("PK\x05\x06\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00")

func (h hostile) texts(t shape.Type) []any {
	all := []any{
		"", " ", "a\x00b", "\x1b[31m\r\n\x7f", "\u202eexe\ufeff\U0010ffff", "*", "fleet-*", "%s%n{{.}}${x}", "../../etc/passwd", `'";--|\`,
		"-1", "NaN", "1e400", "99999999999999999999", "null", `{"a":[`, "arn:aws:gamelift:::/", "custom-", "fleet-|x", "A=1 AND (",
		raw{`"\ud800"`, "\x63\xed\xa0\x80"}, raw{"\"\xff\"", "\x61\xff"},
	}
	if t.Max != nil && *t.Max < 1<<17 {
		all = append(all, strings.Repeat("é", int(*t.Max)), strings.Repeat("a", int(*t.Max)+1))
	} else {
		all = append(all, strings.Repeat("[", 1<<16))
	}
	if t.Min != nil && *t.Min > 1 {
		all = append(all, strings.Repeat("a", int(*t.Min)-1))
	}
	for _, e := range t.Enum {
		all = append(all, e, strings.ToLower(e))
	}
	return append(all, h.world.arns...)
}

func numbers(t shape.Type) []any {
	all := []any{0, -1, 1, math.MaxInt32, math.MinInt32, int64(math.MaxInt64), int64(math.MinInt64), uint64(math.MaxUint64), 0.5, math.Copysign(0, -1), 1e308, -1e308, 5e-324,
		raw{`1e400`, "\xf9\x7e\x00"}, raw{`-1E+999999`, "\xf9\xfc\x00"}, raw{"1" + strings.Repeat("0", 400), "\xc2\x41\x01"}}
	if t.Min != nil {
		all = append(all, number(t, *t.Min), number(t, *t.Min-1))
	}
	if t.Max != nil {
		all = append(all, number(t, *t.Max), number(t, *t.Max+1))
	}
	return all
}

func (h hostile) lists(t shape.Type, depth int) []any {
	one := h.one(*t.Elem)
	many := make([]any, 10_000)
	for i := range many {
		many[i] = one
	}
	all := []any{[]any{}, []any{nil}, []any{one, one}, many}
	if depth > 0 {
		for _, v := range h.of(*t.Elem, depth-1) {
			all = append(all, []any{v}, []any{one, v})
		}
	}
	return all
}

func (h hostile) maps(t shape.Type, depth int) []any {
	one := h.one(*t.Elem)
	many := map[string]any{}
	for i := range 2_000 {
		many[fmt.Sprint("k", i)] = one
	}
	all := []any{map[string]any{}, map[string]any{"": one}, map[string]any{"a\x00b": one}, map[string]any{strings.Repeat("k", 5000): one}, map[string]any{"*|": nil}, many}
	if depth > 0 {
		for _, v := range h.of(*t.Elem, depth-1) {
			all = append(all, map[string]any{"skill": v})
		}
	}
	return all
}

func (h hostile) structures(t shape.Type, depth int) []any {
	members := h.api.Structures[t.Ref]
	all := []any{map[string]any{}, deep(100)}
	if depth <= 0 {
		return all
	}
	for _, m := range members {
		for _, v := range h.of(m.Type, depth-1) {
			in := h.world.plausible(h.generator, members, 1)
			in[m.Name] = v
			all = append(all, in)
		}
	}
	return all
}

func deep(n int) any {
	var v any = "x"
	for range n {
		v = map[string]any{"SDM": v}
	}
	return v
}

// one returns a value of the right form.
func (h hostile) one(t shape.Type) any {
	if t.Kind == shape.Struct {
		return h.world.plausible(h.generator, h.api.Structures[t.Ref], 2)
	}
	return h.sample(t)
}

// attempt is a request that should be refused, or do no harm.
type attempt struct {
	operation string
	in        map[string]any
	protocol  protocol
}

// attempts returns each hostile value for each member of an operation, alone and in
// random combinations. The values of a member itself are sent in both protocols;
// those nested in it alternate between them.
func (h hostile) attempts(op shape.Operation, rng *rand.Rand) []attempt {
	var all []attempt
	base := func() map[string]any { return h.world.plausible(h.generator, op.Input, 2) }
	values := map[string][]any{}
	for _, m := range op.Input {
		values[m.Name] = h.of(m.Type, 2)
		for i, v := range thinned(values[m.Name], 60, rng) {
			in := base()
			in[m.Name] = v
			all = append(all, attempt{op.Name, in, protocols[i%2]})
		}
	}
	for range 40 {
		in := base()
		for name, v := range values {
			if rng.IntN(3) == 0 {
				in[name] = v[rng.IntN(len(v))]
			}
		}
		all = append(all, attempt{op.Name, in, protocols[rng.IntN(2)]})
	}
	return all
}

// thinned returns at most most values of a list, chosen at random.
func thinned(values []any, most int, rng *rand.Rand) []any {
	if len(values) <= most {
		return values
	}
	rng.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	return values[:most]
}

// complaints is a log handler that keeps error records.
type complaints struct {
	mu   sync.Mutex
	said []string
}

func (c *complaints) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelError
}
func (c *complaints) WithAttrs([]slog.Attr) slog.Handler { return c }
func (c *complaints) WithGroup(string) slog.Handler      { return c }

// Handle implements slog.Handler.
func (c *complaints) Handle(_ context.Context, r slog.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	c.said = append(c.said, text)
	return nil
}

// No input to any operation causes an internal error, an error in the server's log,
// or a state that does not read back the same.
func TestHostile(t *testing.T) {
	t.Parallel()
	log := &complaints{}
	options := app.Options{Listen: "127.0.0.1:0", DataDir: t.TempDir(), Store: "sqlite", AcceptAny: true, Logger: slog.New(log)}
	w := newWorld(t, func(o *app.Options) { *o = options })
	h := hostile{generator{gamelift.API()}, w}
	tried := 0
	for _, harm := range []bool{false, true} { // operations that remove the world's resources come last
		work := make(chan attempt)
		var workers sync.WaitGroup
		for range 8 {
			workers.Go(func() {
				for a := range work {
					a.try(t, w)
				}
			})
		}
		for i, op := range h.api.Operations {
			if removes(op.Name) != harm || !available(t, w.app.URL(), op) {
				continue
			}
			for _, a := range h.attempts(op, rand.New(rand.NewPCG(1, uint64(i)))) {
				tried++
				work <- a
			}
		}
		close(work)
		workers.Wait()
	}
	w.must(t, "ListFleets", map[string]any{})
	stop, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := w.app.Stop(stop); err != nil {
		t.Error(err)
	}
	report, err := app.Verify(t.Context(), options, "")
	if err != nil || len(report.Problems) > 0 || report.Digest != w.app.Digest() {
		t.Errorf("the state reads back differently: %v, %v", report.Problems, err)
	}
	for _, text := range log.said {
		t.Errorf("logged: %s", text)
	}
	if tried < 5000 {
		t.Errorf("tried only %d requests: the generator is broken", tried)
	}
	t.Logf("%d requests", tried)
}

func removes(operation string) bool {
	return slices.ContainsFunc([]string{"Delete", "Deregister", "Stop", "Terminate"}, func(verb string) bool { return strings.HasPrefix(operation, verb) })
}

// try sends the request; it may succeed or be refused.
func (a attempt) try(t *testing.T, w *world) {
	body, err := a.protocol.encode(a.in)
	if err != nil { // JSON has fewer values than CBOR
		if body, err = protocols[1].encode(a.in); err != nil {
			t.Errorf("%s: %v", a.operation, err)
			return
		}
		a.protocol = protocols[1]
	}
	answer := a.protocol.call(t, w.app.URL(), a.operation, body)
	if answer.status >= 500 || answer.status != 200 && strings.Contains(string(answer.body), "InternalService") {
		shown, _ := json.Marshal(a.in)
		t.Errorf("%s, %s, %.600s: %d %.300q", a.operation, a.protocol.name, shown, answer.status, answer.body)
	}
}

// FuzzOperation sends arbitrary bodies to any operation.
func FuzzOperation(f *testing.F) {
	log := &complaints{}
	w := newWorld(f, func(o *app.Options) { o.Logger = slog.New(log) })
	h := hostile{generator{gamelift.API()}, w}
	for i, op := range h.api.Operations {
		in := w.plausible(h.generator, op.Input, 2)
		for p, codec := range protocols {
			if body, err := codec.encode(in); err == nil {
				f.Add(uint8(i), p == 1, body)
			}
		}
	}
	f.Fuzz(func(t *testing.T, operation uint8, binary bool, body []byte) {
		p := protocols[0]
		if binary {
			p = protocols[1]
		}
		op := h.api.Operations[int(operation)%len(h.api.Operations)]
		if answer := p.call(t, w.app.URL(), op.Name, body); answer.status >= 500 {
			t.Errorf("%s, %s, %q: %d %q", op.Name, p.name, body, answer.status, answer.body)
		}
		log.mu.Lock()
		defer log.mu.Unlock()
		for _, text := range log.said {
			t.Errorf("logged: %s", text)
		}
		log.said = nil
	})
}
