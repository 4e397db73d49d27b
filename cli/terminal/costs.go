package terminal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/musterhq/muster/cli/client"
)

// Costs shows what the fleets cost now.
func (t *Terminal) Costs(ctx context.Context) error {
	return t.show(ctx, func(ctx context.Context) (table, error) {
		c, err := t.Client.Costs(ctx)
		if err != nil {
			return table{}, err
		}
		if c.Currency == "" && !t.JSON {
			return table{}, errors.New("the server has no prices: write what instances and machines cost into a file, and start the server with --prices FILE (docs/monitoring.md)")
		}
		view := table{Table: Table{Head: []string{"FLEET", "NAME", "LOCATION", "INSTANCES", "PLAYERS", strings.TrimSpace(c.Currency + "/HOUR"), "EACH PLAYER"}}, data: c}
		for _, f := range c.Fleets {
			view.Rows = append(view.Rows, costRow(f.FleetID, f.Name, f.Location, f.Cost))
		}
		for _, u := range c.Unused {
			view.Rows = append(view.Rows, []string{"unused", "", u.Location, "", "", money(u.PerHour), ""})
		}
		view.Rows = append(view.Rows, costRow("total", "", "", c.Total))
		return view, nil
	})
}

func costRow(id, name, location string, c client.Cost) []string {
	instances := strconv.Itoa(c.Instances)
	if c.Unpriced > 0 {
		instances += fmt.Sprintf(" %d unpriced", c.Unpriced)
	}
	each := "-"
	if c.PerPlayerHour != nil {
		each = money(*c.PerPlayerHour)
	}
	return []string{id, name, location, instances, strconv.Itoa(c.Players), money(c.PerHour), each}
}

// money returns an amount with four decimals: a player's hour costs less than a cent.
func money(amount float64) string { return strconv.FormatFloat(amount, 'f', 4, 64) }
