package host

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/musterhq/muster/hosts/protocol"
)

// Each data directory has ports of its own, with room for an instance on each processor.
func TestOffer_Ports(t *testing.T) {
	t.Parallel()
	begin := map[int]bool{}
	for n := range 100 {
		offered := func() protocol.Facts {
			return New(Options{}, Services{Dir: fmt.Sprintf("data%d/agent", n), Logger: slog.New(slog.DiscardHandler)}).offer()
		}
		f := offered()
		if f.PortFrom < firstPort || f.PortTo != lastPort || (f.PortTo-f.PortFrom+1)/protocol.PortsAnInstance < f.CPUMillis/1000 {
			t.Errorf("offered are %+v", f)
		}
		if again := offered().PortFrom; again != f.PortFrom {
			t.Errorf("after a restart ports from %d are offered, before from %d", again, f.PortFrom)
		}
		begin[f.PortFrom] = true
	}
	if len(begin) < 90 {
		t.Errorf("100 directories have %d ranges", len(begin))
	}
}
