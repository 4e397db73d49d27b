package terminal

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/musterhq/muster/setup"
)

// marks are what a plan shows before an operation.
var marks = map[setup.Op]string{setup.Create: "+", setup.Update: "~", setup.Replace: "±", setup.Delete: "-"}

// widest bounds how much of a value a plan shows, in characters.
const widest = 100

// WritePlan writes what is to be done, member by member, and what is left.
func WritePlan(out io.Writer, plan setup.Plan) {
	counts := map[setup.Op]int{}
	impossible, unknown := 0, 0
	var left []string
	for _, a := range plan {
		mark := marks[a.Op]
		switch {
		case a.Impossible != "":
			mark = "!"
			impossible++
		case a.Op == setup.Leave && a.Unknown == "":
			left = append(left, string(a.Kind)+" "+a.Name)
			continue
		case a.Op == setup.Leave:
			mark = "?"
		default:
			counts[a.Op]++
		}
		fmt.Fprintf(out, "%s %-8s %s %s\n", mark, a.Op, a.Kind, a.Name)
		for _, c := range a.Changes {
			fmt.Fprintf(out, "             %s\n", changeLine(a.Op, c))
		}
		if a.Unknown != "" {
			unknown++
		}
		for _, note := range notes(a) {
			fmt.Fprintf(out, "             (%s)\n", note)
		}
	}
	if len(left) > 0 {
		fmt.Fprintf(out, "Not in the file, and left as they are:\n")
		for _, l := range left {
			fmt.Fprintf(out, "  %s\n", l)
		}
	}
	switch {
	case !plan.Changes() && unknown > 0:
		fmt.Fprintln(out, "The server is as the file describes it, as far as that is known.")
		return
	case !plan.Changes():
		fmt.Fprintln(out, "The server is as the file describes it.")
		return
	}
	fmt.Fprintf(out, "Plan: %d to create, %d to update, %d to replace, %d to delete", counts[setup.Create], counts[setup.Update], counts[setup.Replace], counts[setup.Delete])
	if impossible > 0 {
		fmt.Fprintf(out, "; %d cannot be done", impossible)
	}
	fmt.Fprintln(out, ".")
}

// notes returns what a plan says about an action beside its changes.
func notes(a setup.Action) (all []string) {
	if a.Impossible != "" {
		all = append(all, "cannot be done: "+a.Impossible)
	} else if note := replaceNote(a); note != "" {
		all = append(all, note)
	}
	if !a.RolledBack.IsZero() {
		all = append(all, "its build was rolled back on "+setup.Moment(a.RolledBack)+"; this brings it back")
	}
	if a.Unknown != "" {
		all = append(all, a.Unknown)
	}
	return all
}

// changeLine returns a change on one line.
func changeLine(op setup.Op, c setup.Change) string {
	switch {
	case op == setup.Create:
		return fmt.Sprintf("%s: %s", c.Member, cut(c.To))
	case c.To == "":
		return fmt.Sprintf("%s: %s is removed%s", c.Member, cut(c.From), noted(c))
	}
	from, to := differing(cmp.Or(c.From, "none"), c.To)
	return fmt.Sprintf("%s: %s → %s%s", c.Member, cut(from), cut(to), noted(c))
}

func noted(c setup.Change) string {
	if c.Note == "" {
		return ""
	}
	return " (" + c.Note + ")"
}

// replaceNote returns what a replacement means, "" for other actions.
func replaceNote(a setup.Action) string {
	if a.Op != setup.Replace {
		return ""
	}
	switch a.Kind {
	case setup.FleetKind:
		return "a new fleet takes its place once it is ACTIVE; the old one ends its game sessions, and is kept without instances"
	case setup.BuildKind:
		return "a new build of this name is uploaded; the old one stays"
	case setup.RuleSetKind:
		return "rule sets cannot be changed: what uses it goes to a copy while it is created again"
	}
	return ""
}

// alike is how much a plan shows of what long values have in common before they differ.
const alike = 30

// differing returns two values without most of what is the same at their beginnings, if they
// would else be shortened before they differ.
func differing(a, b string) (string, string) {
	x, y := []rune(a), []rune(b)
	if max(len(x), len(y)) <= widest {
		return a, b
	}
	same := 0
	for same < min(len(x), len(y)) && x[same] == y[same] {
		same++
	}
	if same <= widest/2 {
		return a, b
	}
	return "…" + string(x[same-alike:]), "…" + string(y[same-alike:])
}

// cut shortens a value.
func cut(s string) string {
	s = strings.ReplaceAll(s, "\n", " ")
	if r := []rune(s); len(r) > widest {
		return string(r[:widest-1]) + "…"
	}
	return s
}
