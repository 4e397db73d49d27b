package placement

import (
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
)

// TestPlacements checks that the model of TestRemotes_History allows what decision 0031 does, and
// nothing else.
func TestPlacements(t *testing.T) {
	t.Parallel()
	const own, other = "arn:aws:gamelift:us-east-1::gamesession/fleet-1/custom-a/p", "arn:aws:gamelift:eu-west-1::gamesession/fleet-2/custom-b/muster-1"
	type step struct {
		what string
		out  seen
	}
	status := func(s types.GameSessionPlacementState, session string) step {
		return step{"describe", seen{status: s, session: session}}
	}
	live := func(sessions ...string) step { return step{"live", seen{live: sessions}} }
	settled := func(sessions ...string) step { return step{"settled", seen{live: sessions}} }
	start, stop, pending := step{what: "start"}, step{what: "stop"}, status(types.GameSessionPlacementStatePending, "")
	fulfilled, cancelled := status(types.GameSessionPlacementStateFulfilled, own), status(types.GameSessionPlacementStateCancelled, "")
	giveUp := step{"give up", seen{token: "muster-1"}}
	for name, test := range map[string]struct {
		steps []step
		want  porcupine.CheckResult
	}{
		"one":                       {[]step{start, pending, live(own), fulfilled, settled(own)}, porcupine.Ok},
		"two":                       {[]step{start, live(other, own)}, porcupine.Illegal},
		"two, one given up before":  {[]step{start, giveUp, live(other, own), fulfilled, live(other, own), settled(own)}, porcupine.Ok},
		"two, one given up later":   {[]step{start, live(other, own), giveUp}, porcupine.Illegal},
		"two, another one given up": {[]step{start, {"give up", seen{token: "muster-2"}}, live(other, own)}, porcupine.Illegal},
		"three, one given up":       {[]step{start, giveUp, live(other, own, own+"-2")}, porcupine.Illegal},
		"given up and then used":    {[]step{start, giveUp, status(types.GameSessionPlacementStateFulfilled, other)}, porcupine.Illegal},
		"given up after its end":    {[]step{start, fulfilled, giveUp}, porcupine.Illegal},
		"given up and never ended":  {[]step{start, giveUp, fulfilled, settled(other, own)}, porcupine.Illegal},
		"one after the other":       {[]step{start, fulfilled, status(types.GameSessionPlacementStateFulfilled, other)}, porcupine.Illegal},
		"not the one it has":        {[]step{start, fulfilled, live(other)}, porcupine.Illegal},
		"gone":                      {[]step{start, fulfilled, settled()}, porcupine.Illegal},
		"never ends":                {[]step{start, pending, settled()}, porcupine.Illegal},
		"fails":                     {[]step{start, status(types.GameSessionPlacementStateFailed, "")}, porcupine.Illegal},
		"stopped":                   {[]step{start, stop, cancelled, settled()}, porcupine.Ok},
		"stopped by nobody":         {[]step{start, cancelled}, porcupine.Illegal},
		"stopped, and left live":    {[]step{start, stop, cancelled, settled(other)}, porcupine.Illegal},
		"not known in the end":      {[]step{start, fulfilled, {"settled", seen{unknown: true}}}, porcupine.Illegal},
		"before its start":          {[]step{pending}, porcupine.Illegal},
	} {
		var history []porcupine.Operation
		for i, s := range test.steps {
			history = append(history, porcupine.Operation{Input: request{"p", s.what}, Output: s.out, Call: int64(2 * i), Return: int64(2*i + 1)})
		}
		if got := porcupine.CheckOperationsTimeout(placements(), history, 0); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
