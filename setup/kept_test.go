package setup

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func capacityOf(low, high, desired int32) *Capacity {
	return &Capacity{MinSize: &low, MaxSize: &high, DesiredInstances: &desired}
}

// The next fleet has the capacity of the fleet whose place it takes, and of the file what has been
// changed there alone.
func TestKept(t *testing.T) {
	t.Parallel()
	first := capacityOf(0, 4, 2)
	fromZero := func(minutes int32, desired int32) *Capacity {
		c := capacityOf(0, 4, desired)
		c.ManagedCapacityConfiguration = &types.ManagedCapacityConfiguration{ZeroCapacityStrategy: types.ZeroCapacityStrategyScaleToAndFromZero}
		if minutes > 0 {
			c.ManagedCapacityConfiguration.ScaleInAfterInactivityMinutes = &minutes
		}
		return c
	}
	stopped := func(actions ...types.FleetAction) *Capacity {
		c := capacityOf(0, 4, 2)
		c.StoppedActions = append([]types.FleetAction{}, actions...)
		return c
	}
	scaled := map[string]*ScalingPolicy{"spare": {}}
	for name, test := range map[string]struct {
		given      *Capacity // by the file at first; nil if that is not known
		file, live *Capacity
		scaled     map[string]*ScalingPolicy
		want, now  *Capacity
		why        []string
	}{
		"nothing has changed":     {given: first, file: first, live: first, want: first, now: first},
		"agreed, though unknown":  {file: first, live: first, want: first, now: first},
		"changed in both alike":   {given: first, file: capacityOf(0, 9, 2), live: capacityOf(0, 9, 2), want: capacityOf(0, 9, 2), now: capacityOf(0, 9, 2)},
		"nothing in the file":     {given: first, file: &Capacity{}, live: capacityOf(1, 9, 5), want: capacityOf(1, 9, 5), now: &Capacity{}},
		"changed at the fleet":    {given: first, file: first, live: capacityOf(3, 20, 15), want: capacityOf(3, 20, 15), now: first, why: []string{"MinSize stays 3: it was changed at the fleet, and has not been changed in the file (0)", "MaxSize stays 20: ", "DesiredInstances stays 15: "}},
		"changed in the file":     {given: first, file: capacityOf(1, 8, 5), live: first, want: capacityOf(1, 8, 5), now: capacityOf(1, 8, 5), why: []string{"MinSize becomes 1: it was changed in the file from 0, and has not been changed at the fleet", "MaxSize becomes 8: ", "DesiredInstances becomes 5: "}},
		"one each":                {given: first, file: capacityOf(1, 4, 2), live: capacityOf(0, 20, 2), want: capacityOf(1, 20, 2), now: capacityOf(1, 4, 2), why: []string{"MinSize becomes 1: ", "MaxSize stays 20: "}},
		"changed in both":         {given: first, file: capacityOf(0, 6, 2), live: capacityOf(0, 20, 2), want: capacityOf(0, 20, 2), now: first, why: []string{"MaxSize stays 20: it was changed at the fleet, from 4, and in the file, to 6; 'muster apply' sets the file's"}},
		"not known":               {file: first, live: capacityOf(0, 20, 2), want: capacityOf(0, 20, 2), now: &Capacity{MinSize: first.MinSize, DesiredInstances: first.DesiredInstances}, why: []string{"MaxSize stays 20 as the fleet has it (the file: 4): whether it was changed there or in the file is not known"}},
		"scaled":                  {given: first, file: capacityOf(0, 4, 3), live: capacityOf(0, 4, 4), scaled: scaled, want: capacityOf(0, 4, 4), now: capacityOf(0, 4, 3), why: []string{"DesiredInstances stays 4: the scaling policies decide on it (the file: 3)"}},
		"scaled, limits changed":  {given: first, file: capacityOf(3, 4, 2), live: first, scaled: scaled, want: capacityOf(3, 4, 3), now: capacityOf(3, 4, 2), why: []string{"MinSize becomes 3: ", "DesiredInstances becomes 3: 2 is outside MinSize and MaxSize"}},
		"limits that exclude":     {given: first, file: capacityOf(3, 4, 2), live: capacityOf(0, 2, 2), want: capacityOf(3, 3, 3), now: capacityOf(3, 4, 2), why: []string{"MinSize becomes 3: ", "MaxSize stays 2: ", "MaxSize becomes 3: MinSize is", "DesiredInstances becomes 3: "}},
		"scaled from zero":        {given: fromZero(0, 2), file: fromZero(0, 2), live: fromZero(30, 2), want: fromZero(30, 2), now: fromZero(0, 2)},
		"no more from zero":       {given: fromZero(0, 2), file: fromZero(0, 2), live: first, want: first, now: fromZero(0, 2), why: []string{"ManagedCapacityConfiguration stays none: "}},
		"scaling stopped by hand": {given: stopped(), file: stopped(), live: stopped("AUTO_SCALING"), want: stopped("AUTO_SCALING"), now: stopped(), why: []string{"StoppedActions stays AUTO_SCALING: "}},
		"scaling stopped in it":   {given: stopped(), file: stopped("AUTO_SCALING"), live: first, want: stopped("AUTO_SCALING"), now: stopped("AUTO_SCALING"), why: []string{"StoppedActions becomes AUTO_SCALING: "}},
	} {
		given := Given{}
		if test.given != nil {
			given = TakeGiven(GivenBy(Placement{HomeRegion: test.given}).Tags()) // as a later command finds it
		}
		kept, now, why := Kept(&Fleet{HomeRegion: test.file}, &Fleet{HomeRegion: test.live, ScalingPolicies: test.scaled}, given, nil)
		if diff := cmp.Diff(test.want, kept.HomeRegion, cmpopts.IgnoreUnexported(types.ManagedCapacityConfiguration{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(GivenBy(Placement{HomeRegion: test.now}), now); diff != "" {
			t.Errorf("%s: the file has given (-want +got):\n%s", name, diff)
		}
		begins := len(why) == len(test.why)
		for i := 0; begins && i < len(why); i++ {
			begins = strings.HasPrefix(why[i], "HomeRegion."+test.why[i])
		}
		if !begins {
			t.Errorf("%s: because\n%s\nwant\n%s", name, strings.Join(why, "\n"), strings.Join(test.why, "\n"))
		}
	}
}

// A location that an operator has added to a fleet or removed stays so, and one that the file has
// added or removed does.
func TestKept_Locations(t *testing.T) {
	t.Parallel()
	one, two, three := capacityOf(0, 1, 1), capacityOf(0, 2, 2), capacityOf(0, 3, 3)
	given := GivenBy(Placement{Locations: map[string]*Capacity{"both": one, "closed": one, "dropped": one, "dropped, and larger": one, "starting": one}})
	live := &Fleet{HomeRegion: three, Locations: map[string]*Capacity{"both": two, "opened": three, "dropped": one, "dropped, and larger": three, "starting": three}}
	file := &Fleet{Locations: map[string]*Capacity{"both": one, "closed": one, "new": two, "starting": two}}
	kept, now, why := Kept(file, live, given, []string{"starting"})
	want := map[string]*Capacity{"both": two, "opened": three, "new": two, "dropped, and larger": three, "starting": two}
	if diff := cmp.Diff(want, kept.Locations); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !cmp.Equal(kept.HomeRegion, live.HomeRegion) {
		t.Errorf("the home region has %+v", kept.HomeRegion)
	}
	if diff := cmp.Diff(GivenBy(Placement{Locations: map[string]*Capacity{"both": one, "closed": one, "new": two, "dropped, and larger": one, "starting": two}}), now); diff != "" {
		t.Errorf("the file has given (-want +got):\n%s", diff)
	}
	for _, text := range []string{"Locations.closed is left out: it was removed from the fleet", "Locations.dropped is left out: it was removed from the file", "Locations.dropped, and larger is kept: it was removed from the file, but the MaxSize of the fleet has been changed from 1 to 3", "Locations.new is added", "Locations.opened is kept"} {
		if !strings.Contains(strings.Join(why, "\n"), text) {
			t.Errorf("it does not say %q:\n%s", text, strings.Join(why, "\n"))
		}
	}
	if kept, _, why = Kept(&Fleet{}, live, given, nil); !cmp.Equal(kept.Locations, live.Locations) || len(why) != 0 {
		t.Errorf("a file without locations changes them to %+v: %q", kept.Locations, why)
	}
}

// Tags keep what a file gave, beside the other tags of a fleet.
func TestGiven(t *testing.T) {
	t.Parallel()
	minutes := int32(30)
	c := capacityOf(0, 4, 2)
	c.ManagedCapacityConfiguration = &types.ManagedCapacityConfiguration{ZeroCapacityStrategy: types.ZeroCapacityStrategyScaleToAndFromZero, ScaleInAfterInactivityMinutes: &minutes}
	c.StoppedActions = []types.FleetAction{types.FleetActionAutoScaling}
	f := &Fleet{HomeRegion: c, Locations: map[string]*Capacity{"custom-lab": capacityOf(1, 1, 1), "us-west-2": {}}}
	tags := GivenBy(f.Placement()).Tags()
	if len(tags) != 3 || tags["muster:capacity:custom-lab"] != "MinSize=1 MaxSize=1 DesiredInstances=1" || len(tags["muster:capacity"]) > 256 {
		t.Errorf("the tags are %q", tags)
	}
	tags["team"] = "blue"
	got := TakeGiven(tags)
	if diff := cmp.Diff(f, got.Fleet(), cmpopts.IgnoreUnexported(types.ManagedCapacityConfiguration{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(tags) != 1 || tags["team"] != "blue" {
		t.Errorf("the other tags are %q", tags)
	}
}

// A plan notes which of the values that it changes were changed at the fleet, and how to keep them.
func TestCompare_ChangedAtTheFleet(t *testing.T) {
	t.Parallel()
	fromZero := capacityOf(0, 4, 1)
	fromZero.ManagedCapacityConfiguration = &types.ManagedCapacityConfiguration{ZeroCapacityStrategy: types.ZeroCapacityStrategyScaleToAndFromZero}
	busy := *fromZero
	busy.MinSize = new(int32(1)) // by the server, while it has game sessions
	scaled := map[string]*ScalingPolicy{"spare": {}}
	first := capacityOf(0, 4, 2)
	const kept = "it was changed at the fleet from 4; to keep 20, write that into the file"
	for name, test := range map[string]struct {
		given, file, live *Capacity // of a location; nil if it is not there
		scaled            map[string]*ScalingPolicy
		want              map[string]string // notes by member; all that is changed
	}{
		"at the fleet":      {given: first, file: first, live: capacityOf(0, 20, 2), want: map[string]string{".MaxSize": kept}},
		"in the file":       {given: first, file: capacityOf(0, 9, 2), live: first, want: map[string]string{".MaxSize": ""}},
		"in both":           {given: first, file: capacityOf(0, 9, 2), live: capacityOf(0, 20, 2), want: map[string]string{".MaxSize": "it was changed at the fleet, too, from 4"}},
		"in both alike":     {given: first, file: capacityOf(0, 9, 2), live: capacityOf(0, 9, 2)},
		"one each":          {given: first, file: capacityOf(1, 4, 2), live: capacityOf(0, 20, 2), want: map[string]string{".MinSize": "", ".MaxSize": kept}},
		"not known":         {file: first, live: capacityOf(0, 20, 2), want: map[string]string{".MaxSize": ""}},
		"by scaling":        {given: first, file: capacityOf(5, 9, 6), live: capacityOf(0, 4, 4), scaled: scaled, want: map[string]string{".MinSize": "", ".MaxSize": "", ".DesiredInstances": ""}},
		"by hand":           {given: first, file: first, live: capacityOf(0, 4, 4), want: map[string]string{".DesiredInstances": "it was changed at the fleet from 2; to keep 4, write that into the file"}},
		"by the server":     {given: fromZero, file: first, live: fromZero, want: map[string]string{".DesiredInstances": ""}},
		"set by the server": {given: capacityOf(0, 4, 1), file: capacityOf(0, 4, 1), live: &busy},
		"added to the one":  {given: nil, live: first, want: map[string]string{"": "it was added at the fleet; to keep it, add it to the file"}},
		"taken out of it":   {given: first, live: first, want: map[string]string{"": ""}},
	} {
		for _, location := range []string{"", "custom-lab"} {
			fleet := func(c *Capacity) *Fleet {
				f := &Fleet{HomeRegion: c, ScalingPolicies: test.scaled}
				if location != "" {
					f.HomeRegion, f.Locations = capacityOf(0, 1, 1), map[string]*Capacity{}
					if c != nil {
						f.Locations[location] = c
					}
				}
				return f
			}
			at := "HomeRegion"
			if location != "" {
				at = "Locations." + location
			} else if test.file == nil {
				continue
			}
			have := &Setup{Fleets: map[string]*Fleet{"game": fleet(test.live)}}
			given := Given{}
			if test.given != nil || location != "" {
				given = GivenBy(fleet(test.given).Placement())
			}
			have.Give(FleetKind, "game", given)
			got := map[string]string{}
			for _, a := range Compare(&Setup{Fleets: map[string]*Fleet{"game": fleet(test.file)}}, have, false) {
				for _, c := range a.Changes {
					got[strings.TrimPrefix(c.Member, at)] = c.Note
				}
			}
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s, at %s (-want +got):\n%s", name, at, diff)
			}
		}
	}
}
