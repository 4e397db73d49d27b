package setup

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/setup"
	"github.com/musterhq/muster/setup/live"
	"github.com/musterhq/muster/test/gameserver"
	"github.com/musterhq/muster/test/node"
)

// A canary runs the build that was uploaded for it, also if the file gives no version and the
// server has several.
func TestDeploy_CanaryHasTheNewBuild(t *testing.T) {
	t.Parallel()
	g := newGame(t)
	before := map[string]bool{}
	builds := func() (ids []string) {
		out, err := g.API.ListBuilds(t.Context(), &gamelift.ListBuildsInput{})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range out.Builds {
			ids = append(ids, *b.BuildId)
		}
		return ids
	}
	for version := range 2 {
		g.writes(1+version, home)
		g.version("", fmt.Sprintf("Version: %d, ", 1+version))
		g.file += queue
		g.apply()
	}
	for _, id := range builds() {
		before[id] = true
	}
	g.writes(3, home)
	g.file += queue
	var working []string
	g.Working = func(text func() string) { working = append(working, text()) }
	g.deploy(live.Canary{Share: 0.5})
	if all := strings.Join(working, "\n"); !strings.Contains(all, "uploaded 100 %") {
		t.Errorf("the upload's progress is %q", all)
	}
	canary := g.fleet("game (next)")
	out, err := g.API.DescribeFleetAttributes(t.Context(), &gamelift.DescribeFleetAttributesInput{FleetIds: []string{canary}})
	if err != nil {
		t.Fatal(err)
	}
	if id := *out.FleetAttributes[0].BuildId; before[id] || len(builds()) != 3 {
		t.Errorf("the canary runs %s; the builds were %v and are %v", id, before, builds())
	}
}

// A deployment without a file replaces the build of the fleet, and changes nothing else: neither what
// an operator has set, nor what a later file is compared with.
func TestDeploy_WithoutFile(t *testing.T) {
	t.Parallel()
	g := newGame(t)
	g.writes(1, "    HomeRegion: {MinSize: 0, MaxSize: 2, DesiredInstances: 1}")
	g.apply()
	g.operator("", 0, 1, 4)
	build := func() string {
		out, err := g.API.DescribeFleetAttributes(t.Context(), &gamelift.DescribeFleetAttributesInput{FleetIds: []string{g.fleet("game")}})
		if err != nil {
			t.Fatal(err)
		}
		return *out.FleetAttributes[0].BuildId
	}
	before := build()

	g.put([]byte("#!/bin/sh\n# another\nexec sleep 600\n"))
	want, err := g.AsFile(t.Context(), "game")
	if err != nil {
		t.Fatal(err)
	}
	want.Builds["game"].Folder = g.folder
	if err := live.Digests(want, nil); err != nil {
		t.Fatal(err)
	}
	if err := g.Deploy(t.Context(), want, "game", live.Canary{}); err != nil {
		t.Fatal(err)
	}
	if build() == before {
		t.Error("the fleet has its former build")
	}
	g.sizes("game", "", 0, 1, 4)
	if said := strings.Join(g.told, "\n"); strings.Contains(said, "the file") {
		t.Errorf("it speaks of a file:\n%s", said)
	}
	g.writes(3, "    HomeRegion: {MinSize: 0, MaxSize: 2, DesiredInstances: 1}")
	g.says(g.deploy(live.Canary{}), "HomeRegion.MaxSize stays 4: it was changed at the fleet, and has not been changed in the file (2)")

	if _, err := g.AsFile(t.Context(), "gmae"); err == nil || !strings.Contains(err.Error(), "it has game") {
		t.Errorf("of a fleet that is not there: %v", err)
	}
}

// A location with game sessions stays, though the file does not have it any more.
func TestApply_LocationInUse(t *testing.T) {
	t.Parallel()
	s := server(t)
	p := node.NewPlace(t, s.API)
	p.Server(t)
	if _, err := p.Create(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	want := &setup.Setup{
		Locations: map[string]*setup.Location{"custom-other": {}},
		Fleets:    map[string]*setup.Fleet{"fleet in " + p.Location: {ComputeType: types.ComputeTypeAnywhere, Locations: map[string]*setup.Capacity{"custom-other": {}}}},
	}
	state, err := live.Read(t.Context(), s.API)
	if err != nil {
		t.Fatal(err)
	}
	plan := setup.Compare(want, state.Setup, false)
	if err := s.Apply(t.Context(), want, state, plan); err == nil || !strings.Contains(err.Error(), "1 game session in "+p.Location) {
		t.Errorf("the error is %v", err)
	}
	if state, err = live.Read(t.Context(), s.API); err != nil {
		t.Fatal(err)
	}
	if at := state.Setup.Fleets["fleet in "+p.Location].Locations; at[p.Location] == nil || len(at) != 1 {
		t.Errorf("the fleet is in %v", at)
	}
}

// A location is deleted with the fleet in it, or when it is removed from that, though the fleet is there until its
// processes have ended.
func TestApply_DeletesLocationAfterFleet(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]func(fleet string) *setup.Setup{
		"deleted": func(string) *setup.Setup { return &setup.Setup{} },
		"moved": func(fleet string) *setup.Setup {
			return &setup.Setup{
				Locations: map[string]*setup.Location{"custom-other": {}},
				Fleets:    map[string]*setup.Fleet{fleet: {ComputeType: types.ComputeTypeAnywhere, Locations: map[string]*setup.Capacity{"custom-other": {}}}},
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := server(t)
			p := node.NewPlace(t, s.API)
			game := p.Server(t, func(o *gameserver.Options) { o.Manual = true }) // does not end by itself
			waited := false
			s.Tell = func(text string) {
				if text == "location "+p.Location+": waiting until fleets have left it" {
					waited = true
					if err := game.End(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
			apply(t, s, want("fleet in "+p.Location))
			if !waited {
				t.Error("the location was deleted at once: the test says nothing")
			}
		})
	}
}

// A configuration without game sessions gives up automatic backfill, which its file does not name.
func TestApply_Standalone(t *testing.T) {
	t.Parallel()
	s := server(t)
	body := `{"name": "two", "ruleLanguageVersion": "1.0", "teams": [{"name": "all", "minPlayers": 2, "maxPlayers": 2}]}`
	want := &setup.Setup{
		GameSessionQueues:   map[string]*setup.Queue{"main": {}},
		MatchmakingRuleSets: map[string]*setup.RuleSet{"two": {RuleSetBody: &body}},
		MatchmakingConfigurations: map[string]*setup.Matchmaking{"two": {
			RuleSet: "two", GameSessionQueues: []string{"main"}, RequestTimeoutSeconds: aws.Int32(60), AcceptanceRequired: aws.Bool(false),
			FlexMatchMode: types.FlexMatchModeWithQueue, BackfillMode: types.BackfillModeAutomatic,
		}},
	}
	apply(t, s, want)
	want.MatchmakingConfigurations["two"] = &setup.Matchmaking{
		RuleSet: "two", RequestTimeoutSeconds: aws.Int32(60), AcceptanceRequired: aws.Bool(false), FlexMatchMode: types.FlexMatchModeStandalone,
	}
	apply(t, s, want)
}
