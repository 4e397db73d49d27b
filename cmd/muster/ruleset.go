package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/flexmatch/cases"
	"github.com/musterhq/muster/flexmatch/lint"
	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search/pool"
	"github.com/musterhq/muster/internal/plain"
)

// rulesetCommand is `muster ruleset`, which needs no server.
type rulesetCommand struct {
	Check     rulesetCheckCommand `cmd:"" help:"Check a rule set: prints everything that is wrong, impossible, expensive or doubtful, each with its place."`
	EvalCases evalCasesCommand    `cmd:"" hidden:"" help:"Run a file of written matchmaking cases."`
}

type rulesetCheckCommand struct {
	File           string        `arg:"" type:"existingfile" help:"The rule set body, as for create-matchmaking-rule-set."`
	RequestTimeout time.Duration `env:"-" help:"RequestTimeoutSeconds of the configuration, such as 120s: steps of expansions that it leaves no time for are named."`
}

// Run prints each error as FILE:LINE:COLUMN: member: code: message, and of a valid rule set what is
// impossible, expensive or doubtful.
func (c *rulesetCheckCommand) Run(t *streams) error {
	body, err := os.ReadFile(c.File)
	if err != nil {
		return fmt.Errorf("read rule set: %w", err)
	}
	rs, err := ruleset.Parse(string(body))
	var errs ruleset.Errors
	if errors.As(err, &errs) {
		for _, e := range errs {
			fmt.Fprintf(t.out, "%s:%d:%d: %s\n", c.File, e.Line, e.Column, ruleSetError(e))
		}
		return fmt.Errorf("%s is not a valid rule set; errors: %d", c.File, len(errs))
	}
	if err != nil {
		return err
	}
	found := append(lint.Check(rs), lint.In(rs, lint.Setting{RequestTimeout: c.RequestTimeout})...)
	slices.SortStableFunc(found, func(a, b lint.Finding) int { return cmp.Or(a.At.Line-b.At.Line, a.At.Column-b.At.Column) })
	for _, f := range found {
		fmt.Fprintf(t.out, "%s:%d:%d: %s\n", c.File, f.At.Line, f.At.Column, doubt(f))
	}
	fmt.Fprintf(t.out, "%s is valid: %s\n", c.File, described(rs))
	return nil
}

// doubt returns what is probably not meant: how bad it is, member, text.
func doubt(f lint.Finding) string {
	how := "doubtful"
	if f.Kind == lint.Impossible || f.Kind == lint.Expensive {
		how = string(f.Kind)
	}
	return fmt.Sprintf("%s: %s: %s", how, f.Member, f.Text)
}

// ruleSetError returns what is wrong with a rule set: member: code: message.
func ruleSetError(e ruleset.Error) string {
	text := fmt.Sprintf("%s: %s", e.Code, e.Message)
	if e.Path != "" {
		text = e.Path + ": " + text
	}
	return text
}

// described returns the size of a rule set in words.
func described(rs *ruleset.RuleSet) string {
	base := rs.Level(0)
	players := plain.Count(base.Capacity(), "player")
	if base.Least() < base.Capacity() {
		players = strconv.Itoa(base.Least()) + " to " + players
	}
	var ages []string
	for _, l := range rs.Levels()[1:] {
		ages = append(ages, l.From.String())
	}
	changes := "no expansions"
	if len(ages) > 0 {
		changes = "expansions after " + strings.Join(ages, ", ") + " of waiting"
	}
	return fmt.Sprintf("%s, %s, %s, %s", plain.Count(len(rs.Instances), "team"), players, plain.Count(len(base.Rules), "rule"), changes)
}

type evalCasesCommand struct {
	File string `arg:"" type:"existingfile" help:"The file of cases."`
	Mode string `enum:"exact,indexed" default:"exact" help:"Which search: exact or indexed (${default})."`
}

// Run prints ID, pass or fail and the reason for each case, and finally the count.
func (c *evalCasesCommand) Run(t *streams) error {
	data, err := os.ReadFile(c.File)
	if err != nil {
		return fmt.Errorf("read cases: %w", err)
	}
	file, err := cases.Read(data)
	if err != nil {
		return err
	}
	matcher := cases.Matcher(cases.Exact)
	if c.Mode == "indexed" {
		matcher = cases.Indexed(pool.Limits{})
	}
	failed := 0
	for i := range file.Cases {
		if err := file.Cases[i].Run(matcher); err != nil {
			failed++
			fmt.Fprintf(t.out, "%s fail: %v\n", file.Cases[i].ID, err)
			continue
		}
		fmt.Fprintf(t.out, "%s pass\n", file.Cases[i].ID)
	}
	fmt.Fprintf(t.out, "%d of %d cases pass\n", len(file.Cases)-failed, len(file.Cases))
	if failed > 0 {
		return fmt.Errorf("%d cases fail", failed)
	}
	return nil
}
