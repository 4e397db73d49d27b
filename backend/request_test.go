package backend

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/musterhq/muster/backend/protocol"
	"github.com/musterhq/muster/internal/fault"
)

// The operator's own backend is limited by its key, whoever has none by address.
func TestServe_OperatorsCountByKey(t *testing.T) {
	t.Parallel()
	inDeaf(t, func(d *deaf) {
		player, _ := d.guest()
		d.b.rates.address = newRate("address", 1, time.Second, 1)
		d.b.rates.key = newRate("key", 3, time.Second, 3)
		d.b.opts.Operator = func(r *http.Request, _ []byte) (string, error) {
			if key := r.Header.Get("Authorization"); key != "" {
				return key, nil
			}
			return "", fault.New(fault.MissingAuthentication, "sign it")
		}
		send := func(key string) int {
			r := httptest.NewRequest("GET", protocol.Base+"/server/players/"+player+"/data/server/skill", nil)
			r.Header.Set("Authorization", key)
			w := httptest.NewRecorder()
			d.b.ServeHTTP(w, r)
			return w.Code
		}
		for _, c := range []struct {
			key  string
			want int
		}{{"one", 404}, {"one", 404}, {"one", 404}, {"one", 429}, {"two", 404}, {"", 401}, {"", 429}, {"two", 404}} {
			if got := send(c.key); got != c.want {
				t.Errorf("key %q: got %d, want %d", c.key, got, c.want)
			}
		}
	})
}
