package app

import (
	"slices"

	"github.com/musterhq/muster/internal/cell"
)

// newSpread returns what spreads the regions over the nodes. The site must be open.
func (a *App) newSpread() *cell.Spread {
	regions := map[string]*region{} // by cell
	var cells []string
	for _, g := range a.regions {
		name := a.optionsIn(g.name).Cell
		regions[name], cells = g, append(cells, name)
	}
	return cell.NewSpread(cell.SpreadOptions{
		URL: a.opts.Store, Password: a.opts.StorePassword, Cells: cells, Node: a.name.at(a.opts.nodeAddress(a.site)), TTL: a.opts.LeaseTTL, Logger: a.log,
		Prefers: func(cell string) bool { return slices.Contains(a.opts.PreferRegions, regions[cell].name) },
		Ready:   func(cell string) bool { return regions[cell].now.Load().ready() },
		Give:    func(cell string) { regions[cell].now.Load().giveWay() },
	})
}

// ready reports whether the replica could own its cell at once, or does.
func (r *replica) ready() bool {
	if !r.health.serves.Load() || !r.member.joined() || r.member.keeper.Aside() != nil || r.member.gate.Unreachable() != nil {
		return false
	}
	if _, wrong := r.member.keeper.Skew(); wrong != "" {
		return false
	}
	return r.member.keeper.Holds() || r.opts.ColdStandby || r.domain.store.Standby().Warm
}
