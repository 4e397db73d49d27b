package identity

import (
	"testing"
	"time"

	"github.com/musterhq/muster/internal/wait"
)

// When there are more bans than are shared, those that were set last are: a ban for a day from a
// minute ago rather than one for ever from last year, of which no access token is valid any more.
func TestShared_NewestBans(t *testing.T) {
	t.Parallel()
	inHouse(t, Options{}, func(h *house) {
		old, short := h.guest(), h.guest()
		h.must(h.ids.Accounts.Ban(h.ctx, old.PlayerID, "cheating", time.Now().Add(100*365*24*time.Hour)))
		wait.Pass(time.Minute)
		h.must(h.ids.Accounts.Ban(h.ctx, short.PlayerID, "insults", time.Now().Add(24*time.Hour)))
		if shared := h.ids.Shared(h.st.View(), time.Now()); len(shared.Bans) != 2 {
			h.Fatalf("%d bans are shared", len(shared.Bans))
		}
		var banned []*Player
		for p := range h.ids.Accounts.players.banned.Equal(h.st.View(), isBanned) {
			banned = append(banned, p)
		}
		if kept := newest(banned, 1); len(kept) != 1 || kept[0].ID != short.PlayerID {
			h.Errorf("%+v is shared, want the ban of %s", kept[0], short.PlayerID)
		}
	})
}
