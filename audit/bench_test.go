package audit_test

import (
	"strconv"
	"testing"

	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/store"
)

// BenchmarkCommand measures a command without audit log, in a request that is not
// recorded, and in one that is.
func BenchmarkCommand(b *testing.B) {
	for _, c := range []struct {
		name   string
		level  audit.Level
		action auth.Action
	}{{"off", audit.Off, "CreateFleet"}, {"not recorded", audit.Operators, "StartMatchmaking"}, {"recorded", audit.Operators, "CreateFleet"}} {
		b.Run(c.name, func(b *testing.B) {
			s := newSite(b, store.NewMemory(), audit.Options{Level: c.level})
			caller := auth.Caller{KeyID: "MSTR0123456789", Name: "ci", Role: auth.Operator}
			var i int
			for b.Loop() {
				i++
				ctx, q := s.begin(audit.Origin{Source: "10.0.0.1", UserAgent: "aws-sdk-go-v2/1.30"})
				q.SetCaller(caller, c.action)
				if _, err := s.make.Do(ctx, strconv.Itoa(i%1000)); err != nil {
					b.Fatal(err)
				}
				q.End(audit.OK)
			}
		})
	}
}
