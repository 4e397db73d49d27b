package setup

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/cli/terminal"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/setup"
)

// The plan says which instances with game sessions a smaller capacity takes away, before it does, and whether
// the game sessions end. So does a change by the command line, which does not ask.
func TestPlan_EndingGameSessions(t *testing.T) {
	t.Parallel()
	g := newGame(t)
	capacity := func(desired string) {
		g.writes(1, "    HomeRegion: {MinSize: 0, MaxSize: 3, DesiredInstances: "+desired+"}\n")
	}
	capacity("3")
	g.apply()
	id := g.fleet("game")
	ready := func() int {
		out, err := g.API.DescribeFleetUtilization(t.Context(), &gamelift.DescribeFleetUtilizationInput{FleetIds: []string{id}})
		if err != nil {
			t.Fatal(err)
		}
		return int(aws.ToInt32(out.FleetUtilization[0].ActiveServerProcessCount))
	}
	wait.Until(g, "three game servers are ready", func() bool { return ready() == 3 })
	var sessions []string
	for range 2 {
		out, err := g.API.CreateGameSession(t.Context(), &gamelift.CreateGameSessionInput{FleetId: &id, MaximumPlayerSessionCount: aws.Int32(2)})
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, *out.GameSession.GameSessionId)
	}
	note := func(desired string) string {
		t.Helper()
		capacity(desired)
		_, state, plan := read(t, g.Server, g.file, false)
		if err := g.NoteEnding(t.Context(), state, plan); err != nil {
			t.Fatal(err)
		}
		if len(plan) != 1 || plan[0].Op != setup.Update || len(plan[0].Changes) != 1 {
			t.Fatalf("the plan is %+v", plan)
		}
		return plan[0].Changes[0].Note
	}
	says := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
	protect := func(id string) {
		t.Helper()
		if _, err := g.API.UpdateGameSession(t.Context(), &gamelift.UpdateGameSessionInput{GameSessionId: &id, ProtectionPolicy: types.ProtectionPolicyFullProtection}); err != nil {
			t.Fatal(err)
		}
	}
	says(note("2"), "") // one has none
	says(note("1"), "1 of the 2 instances that it takes away has game sessions, which end at once")
	protect(sessions[0])
	says(note("0"), "2 of the 3 instances that it takes away have game sessions, which end at once unless they are protected")
	protect(sessions[1])
	says(note("0"), "2 of the 3 instances that it takes away have game sessions, and are kept until these have ended")
	g.scales("game", terminal.Scale{Desired: new(1)}, "game in us-east-1: MinSize 0, DesiredInstances from 3 to 1, MaxSize 3.\n"+
		"Note: 1 of the 2 instances that it takes away has game sessions, which end at once unless they are protected.\n")
}
