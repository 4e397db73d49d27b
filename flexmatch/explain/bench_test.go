package explain_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/musterhq/muster/flexmatch/explain"
	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// BenchmarkTicket and BenchmarkPool measure explanations with 100,000 waiting tickets.
func BenchmarkTicket(b *testing.B) {
	rs, waiting := many(b)
	for i := 0; b.Loop(); i++ {
		explain.Ticket(rs, search.Options{}, waiting[i%len(waiting)], waiting, second(100), explain.Limits{})
	}
}

func BenchmarkPool(b *testing.B) {
	rs, waiting := many(b)
	for b.Loop() {
		explain.Pool(rs, search.Options{}, waiting, second(100), explain.Limits{})
	}
}

func many(b *testing.B) (*ruleset.RuleSet, []*search.Ticket) {
	rs := rules(b, `{"name":"t","minPlayers":5,"maxPlayers":5,"quantity":2}`, window+`,{"name":"Mode","type":"batchDistance","batchAttribute":"mode"}`, wider)
	r := rand.New(rand.NewPCG(1, 1))
	var out []*search.Ticket
	for i := range 100_000 {
		out = append(out, solo(fmt.Sprintf("k%d", i), float64(r.IntN(100)), 1500+400*r.NormFloat64()))
	}
	return rs, out
}
