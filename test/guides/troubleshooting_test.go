package guides

import "testing"

// TestTroubleshooting types the commands of the guide, where a placement and a ticket wait.
func TestTroubleshooting(t *testing.T) {
	t.Parallel()
	r := newReader(t, "troubleshooting")
	_, operator := r.serve("data")
	s := r.studio(operator)
	r.follow(step{"muster status", func(text string) {
		r.puts("placements explain ID", "placements explain "+s.waiting)
		r.puts("tickets explain ID", "tickets explain "+s.ticket)
		typed := commands(text)
		r.prints(typed[0], "game servers")
		r.watches(typed[1], "GAME_SESSION_ACTIVATED")
		for i, want := range []string{"live", "NO_FREE_PROCESS", s.ticket} {
			r.prints(typed[i+2], want)
		}
	}})
}
