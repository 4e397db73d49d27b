package app

import (
	"net/http"
	"os"

	"github.com/musterhq/muster/admin"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/cell"
	"github.com/musterhq/muster/internal/feature"
	"github.com/musterhq/muster/internal/release"
)

// serverRoutes adds the list of servers to the door for administrators. The owner of the
// state answers, whichever server is asked.
func (r *replica) serverRoutes(to *admin.Door) {
	to.Handle("GET /admin/v1/servers", auth.ReadHosts, func(*http.Request, []byte) (any, error) {
		return client.Servers{Level: int(r.domain.store.Level()), Servers: r.servers()}, nil
	})
}

// servers returns the servers that share the state of this node, which owns it.
func (r *replica) servers() []client.Server {
	if !r.member.joined() {
		name, _ := os.Hostname()
		return []client.Server{{Name: name, Role: client.Owner, Release: release.Number(), Level: int(r.opts.level())}}
	}
	members := r.member.keeper.Members()
	var highest feature.Level
	for _, m := range members {
		if !m.Gone() {
			highest = max(highest, m.Level)
		}
	}
	all := []client.Server{}
	for _, m := range members {
		all = append(all, r.serverOf(m, highest))
	}
	return all
}

// serverOf describes a member of the cell; highest is the highest level that a member knows.
func (r *replica) serverOf(m cell.Member, highest feature.Level) client.Server {
	s := client.Server{
		Name: m.Name, Address: m.Address, Role: client.Standby, Release: m.Release, Level: int(m.Level), SilentSeconds: m.Silent.Seconds(),
		Holds: !m.Gone() && m.Level < highest, Unsupported: release.Unsupported(m.Release, release.Number()),
	}
	switch {
	case m.Name == r.member.keeper.Name():
		s.Role = client.Owner
	case m.Away:
		s.Role = client.Away
	}
	return s
}
