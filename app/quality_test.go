package app_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/musterhq/muster/internal/wait"
)

// qualityView is the part of the view that tests read.
type qualityView struct {
	RuleSet  string `json:"rule_set"`
	Before   string
	Matches  int
	Earlier  int
	Measures []struct {
		Key    string
		Limits []struct {
			At    float64
			After int `json:"after_ms"`
		}
		Now    struct{ Median float64 }
		Before *struct{ Median float64 }
		Change *struct {
			Clear bool
			By    float64
		}
	}
}

// Matches are measured as the rules saw them, by the rule set that they followed.
func TestConsole_Quality(t *testing.T) {
	t.Parallel()
	c, _ := hosting(t, map[string]any{"LocationName": "custom-a"})
	for _, limit := range []int{90, 200} {
		answered(t, c, "CreateMatchmakingRuleSet", map[string]any{"Name": fmt.Sprint("within-", limit), "RuleSetBody": fmt.Sprintf(`{"name":"r","ruleLanguageVersion":"1.0",
			"playerAttributes":[{"name":"skill","type":"number"},{"name":"map","type":"string","default":"a"}],
			"teams":[{"name":"red","minPlayers":1,"maxPlayers":1},{"name":"blue","minPlayers":1,"maxPlayers":1}],
			"rules":[{"name":"Fair","type":"distance","measurements":["max(flatten(teams[*].players.attributes[skill]))"],"referenceValue":"min(flatten(teams[*].players.attributes[skill]))","maxDistance":%d}],
			"expansions":[{"target":"rules[Fair].maxDistance","steps":[{"waitTimeSeconds":30,"value":500}]}]}`, limit)})
	}
	answered(t, c, "CreateMatchmakingConfiguration", map[string]any{
		"Name": "duel", "RuleSetName": "within-90", "FlexMatchMode": "STANDALONE", "RequestTimeoutSeconds": 100, "AcceptanceRequired": false,
	})
	played := 0
	play := func(a, b int) {
		t.Helper()
		for i, skill := range []int{a, b} {
			answered(t, c, "StartMatchmaking", map[string]any{"ConfigurationName": "duel", "Players": []any{map[string]any{
				"PlayerId": fmt.Sprintf("p%d-%d", played, i), "PlayerAttributes": map[string]any{"skill": map[string]any{"N": skill}},
			}}})
		}
		played++
		wait.Until(t, fmt.Sprintf("match %d is measured", played), func() bool {
			var v qualityView
			viewOf(t, c, "quality?name=duel", &v)
			return v.Matches+v.Earlier == played
		})
	}
	play(100, 140)
	var v qualityView
	viewOf(t, c, "quality?name=duel", &v)
	if v.RuleSet != "within-90" || v.Before != "" {
		t.Errorf("one match: %+v", v)
	}
	answered(t, c, "UpdateMatchmakingConfiguration", map[string]any{"Name": "duel", "RuleSetName": "within-200"})
	play(100, 250)
	v = qualityView{}
	viewOf(t, c, "quality?name=duel", &v)
	if v.RuleSet != "within-200" || v.Before != "within-90" || v.Matches != 1 || v.Earlier != 1 {
		t.Errorf("two matches: %+v", v)
	}
	seen := map[string]bool{}
	for _, m := range v.Measures {
		seen[m.Key] = true
		switch m.Key {
		case "rule Fair", "teams skill", "spread skill":
			if m.Now.Median != 150 || m.Before == nil || m.Before.Median != 40 || m.Change == nil || m.Change.By != 110 {
				t.Errorf("%+v", m)
			}
		case "wait":
			if m.Now.Median < 0 || m.Now.Median > 30 || math.IsNaN(m.Now.Median) {
				t.Errorf("%+v", m)
			}
		default:
			t.Errorf("a measure %q of nothing", m.Key)
		}
		if m.Key == "rule Fair" && (len(m.Limits) != 2 || m.Limits[0].At != 200 || m.Limits[1].At != 500 || m.Limits[1].After != 30_000) {
			t.Errorf("limits: %+v", m.Limits)
		}
	}
	if len(seen) != 4 {
		t.Errorf("measures: %v", seen)
	}
}
