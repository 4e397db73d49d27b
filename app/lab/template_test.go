package lab_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/musterhq/muster/app/lab"
	"github.com/musterhq/muster/console"
)

// Each template is a rule set without a doubt, under which most of those who come are matched.
func TestTemplates(t *testing.T) {
	t.Parallel()
	kinds := map[string]bool{}
	for _, tmpl := range lab.Templates() {
		if kinds[tmpl.Kind] || tmpl.Title == "" || tmpl.Text == "" {
			t.Errorf("template %+v", tmpl)
		}
		kinds[tmpl.Kind] = true
		t.Run(tmpl.Kind, func(t *testing.T) {
			t.Parallel()
			checked := lab.Check(tmpl.Body)
			if !checked.Valid || len(checked.Warnings) > 0 {
				t.Fatalf("errors %+v, warnings %+v", checked.Errors, checked.Warnings)
			}
			got, err := newLab().Simulate(t.Context(), &console.Simulation{B: tmpl.Body, Players: crowd(t, checked), Minutes: 5, Seed: 1, Runs: 1}, quiet)
			if err != nil {
				t.Fatal(err)
			}
			tickets := got.(*lab.Result).B.Tickets
			if tickets.Arrived < 300 || tickets.Matched*4 < tickets.Arrived*3 {
				t.Errorf("of %d tickets %d were matched", tickets.Arrived, tickets.Matched)
			}
		})
	}
}

// crowd describes players who have the attributes of a rule set: 90 a minute.
func crowd(t *testing.T, c *lab.Checked) []byte {
	t.Helper()
	attributes := map[string]any{}
	for _, a := range c.Attributes {
		switch a.Type {
		case "number":
			attributes[a.Name] = map[string]any{"number": map[string]any{"normal": map[string]any{"mean": 1500, "sd": 150}, "min": 0}}
		case "string":
			if a.Weights != nil {
				attributes[a.Name] = map[string]any{"string": a.Weights}
				continue
			}
			words := map[string]int{}
			for _, word := range append(a.Words, fmt.Sprint(a.Default)) {
				words[word] = 1
			}
			attributes[a.Name] = map[string]any{"string": words}
		}
	}
	text, err := json.Marshal(map[string]any{"populations": []any{map[string]any{
		"tickets_per_minute": 90, "attributes": attributes, "latency_ms": map[string]any{"eu-west-1": map[string]any{"lognormal": map[string]any{"median": 35, "sigma": 0.3}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}
