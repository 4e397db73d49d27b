package live

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/setup"
)

// deployed is a fleet whose build is deployed. It keeps the capacity that it has at the server,
// except for what has been changed in the file alone.
type deployed struct {
	name  string
	file  *setup.Fleet // as the file has it
	kept  *setup.Fleet // with the capacity that it gets
	given setup.Given  // what of that is the file's
	told  []string
}

// keep decides on the capacity that the next fleet gets, and reports why it is not that of both; live
// is the fleet whose place it takes. Before that one is ACTIVE its capacity cannot be set, and that
// of the file has not been.
func (m *maker) keep(ctx context.Context, current types.FleetAttributes, live *setup.Fleet) error {
	d := m.deployed
	d.kept, d.given = d.file, setup.GivenBy(d.file.Placement())
	if current.Status != types.FleetStatusActive {
		return nil
	}
	var fresh []string
	for page := gamelift.NewDescribeFleetLocationAttributesPaginator(m.API, &gamelift.DescribeFleetLocationAttributesInput{FleetId: current.FleetId}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, l := range out.LocationAttributes {
			if l.LocationState.Status != types.FleetStatusActive {
				fresh = append(fresh, *l.LocationState.Location)
			}
		}
	}
	var why []string
	d.kept, d.given, why = setup.Kept(d.file, live, m.given[*current.FleetId], fresh)
	if d.file.HomeRegion == nil && d.file.Locations == nil {
		d.given = m.given[*current.FleetId] // there is no file, or it leaves that to an earlier one
	}
	for _, text := range why {
		if !slices.Contains(d.told, text) {
			d.told = append(d.told, text)
			m.tell("fleet %s: %s", d.name, text)
		}
	}
	return nil
}

// note keeps in the tags of a fleet what of its capacity a file gave. If it has too many tags, a
// later deployment does not know that.
func (m *maker) note(ctx context.Context, f identity, given setup.Given) error {
	had, tags := m.given[f.id].Tags(), given.Tags()
	var drop []string
	for key := range had {
		if _, ok := tags[key]; !ok {
			drop = append(drop, key)
		}
	}
	maps.DeleteFunc(tags, func(key, text string) bool { before, ok := had[key]; return ok && before == text })
	if len(drop) > 0 {
		if _, err := m.API.UntagResource(ctx, &gamelift.UntagResourceInput{ResourceARN: &f.arn, TagKeys: drop}); err != nil {
			return err
		}
	}
	if len(tags) > 0 {
		_, err := m.API.TagResource(ctx, &gamelift.TagResourceInput{ResourceARN: &f.arn, Tags: tagsOf(tags)})
		if full := (*types.TaggingFailedException)(nil); err != nil && !errors.As(err, &full) {
			return err
		}
	}
	m.given[f.id] = given
	return nil
}
