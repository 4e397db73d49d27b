package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/musterhq/muster/flexmatch/cases"
	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search/pool"
)

// rulesetCommand is `muster ruleset`, which needs no server.
type rulesetCommand struct {
	Check     rulesetCheckCommand `cmd:"" help:"Check a rule set: prints everything that is wrong, each with its place."`
	EvalCases evalCasesCommand    `cmd:"" hidden:"" help:"Run a file of written matchmaking cases."`
}

type rulesetCheckCommand struct {
	File string `arg:"" type:"existingfile" help:"The rule set body, as for create-matchmaking-rule-set."`
}

// Run prints each error as FILE:LINE:COLUMN: member: code: message.
func (c *rulesetCheckCommand) Run(t *streams) error {
	body, err := os.ReadFile(c.File)
	if err != nil {
		return fmt.Errorf("read rule set: %w", err)
	}
	rs, err := ruleset.Parse(string(body))
	var errs ruleset.Errors
	if errors.As(err, &errs) {
		for _, e := range errs {
			member := ""
			if e.Path != "" {
				member = e.Path + ": "
			}
			fmt.Fprintf(t.out, "%s:%d:%d: %s%s: %s\n", c.File, e.Line, e.Column, member, e.Code, e.Message)
		}
		return fmt.Errorf("%s is not a valid rule set; errors: %d", c.File, len(errs))
	}
	if err != nil {
		return err
	}
	base := rs.Level(0)
	fmt.Fprintf(t.out, "%s is valid: %d teams, %d to %d players, %d rules, %d expansion steps\n",
		c.File, len(rs.Instances), base.Least(), base.Capacity(), len(base.Rules), len(rs.Levels())-1)
	return nil
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
