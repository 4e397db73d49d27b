package main

import (
	"cmp"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/terminal"
)

// loginsCommand is `muster admin logins`.
type loginsCommand struct {
	List listLoginsCommand `cmd:"" default:"withargs" help:"List who is logged in to the console."`
	End  endLoginsCommand  `cmd:"" help:"Log somebody out of the console."`
}

type listLoginsCommand struct{ watchFlags }

// Run lists the logins.
func (c *listLoginsCommand) Run(t *streams, view *terminal.Terminal) error {
	head := []string{"LOGIN", "WHO", "NAME", "ROLE", "BY", "FROM", "SINCE", "LAST SEEN", "EXPIRES", "SCOPE"}
	return terminal.List(t.ctx, view, view.Client.Logins().List, head, func(l client.Login) []string {
		return []string{
			l.ID, l.KeyID, l.Name, l.Role, cmp.Or(l.Issuer, "access key"), cmp.Or(l.From, "-"),
			moment(l.Created), moment(l.LastSeen), moment(l.Expires), l.Scope,
		}
	})
}

type endLoginsCommand struct {
	lookFlags
	ID string `arg:"" help:"Id of a login; or of a person or an access key, to end all of theirs. 'muster admin logins' shows them."`
}

// Run ends the logins.
func (c *endLoginsCommand) Run(t *streams, view *terminal.Terminal) error {
	n, err := view.Client.Logins().End(t.ctx, c.ID)
	if err != nil {
		return err
	}
	return view.Report(map[string]any{"id": c.ID, "ended": n}, "Logins that were ended: %d. Those who had them may log in again, unless the key is disabled or the identity provider refuses.", n)
}
