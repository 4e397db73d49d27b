package placement

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// TestRegions_Servers places in a region that another server owns, and goes on when that server
// stops and the region moves.
func TestRegions_Servers(t *testing.T) {
	t.Parallel()
	url, key := pgtest.Database(t), filepath.Join(t.TempDir(), "shared.key")
	names := threeRegions[:2]
	server := func(prefers string) *app.App {
		return node.InProcess(t, func(o *app.Options) {
			o.Store, o.Regions, o.PreferRegions, o.LeaseTTL, o.MasterKeyFile = url, names, []string{prefers}, time.Second, key
		})
	}
	near, far := server(names[0]), server(names[1])
	owns := func(a *app.App, region string) bool {
		answer, err := http.Get(a.URL() + "/readyz?region=" + region)
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		return err == nil && strings.Contains(string(body), `"owner"`)
	}
	wait.Until(t, "each server has its region", func() bool { return owns(near, names[0]) && owns(far, names[1]) })
	all := regionsOf(t, near.URL(), names)
	h := &homeOf{T: t, realm: all[0]}
	h.queue("q", []string{all[1].place.FleetARN}, types.PriorityTypeDestination)
	for range 2 {
		all[1].place.Server(t)
	}
	h.joins(all[1], h.placed("q", "across", nil))
	h.must(far.Stop(t.Context()))
	wait.Until(t, "the other server has both regions", func() bool { return owns(near, names[1]) })
	h.joins(all[1], h.placed("q", "moved", nil))
}
