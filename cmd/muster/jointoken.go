package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/terminal"
	"github.com/musterhq/muster/hosts/protocol"
)

// joinTokensCommand is `muster admin join-tokens`.
type joinTokensCommand struct {
	Create createJoinTokenCommand `cmd:"" help:"Make a token and print it, this once."`
	List   listJoinTokensCommand  `cmd:"" help:"List the tokens that have not expired, without the tokens themselves."`
	Revoke revokeJoinTokenCommand `cmd:"" help:"End a token; machines that have joined stay."`
}

type createJoinTokenCommand struct {
	lookFlags
	Location string        `placeholder:"NAME" help:"Location that machines join (the server's region)."`
	Life     time.Duration `default:"1h" help:"How long the token is good, at most 8784h (${default})."`
	Uses     int           `default:"1" placeholder:"COUNT" help:"How many machines may join with it (${default})."`
	CIDR     []string      `name:"cidr" placeholder:"NETWORK,…" help:"Networks or addresses that the machines' requests come from (any)."`
	Name     string        `placeholder:"TEXT" help:"What the token is for."`
}

// Run creates a token and prints how to use it.
func (c *createJoinTokenCommand) Run(t *streams, view *terminal.Terminal) error {
	made, err := view.Client.CreateJoinToken(t.ctx, client.JoinTokenInput{
		Name: c.Name, Location: c.Location, Life: c.Life, Uses: c.Uses, Networks: c.CIDR,
	})
	if err != nil {
		return err
	}
	if view.JSON {
		return terminal.WriteJSON(t.out, made)
	}
	where := "one machine"
	if made.MaxUses > 1 {
		where = fmt.Sprintf("up to %d machines", made.MaxUses)
	}
	if len(made.Networks) > 0 {
		where += " of " + strings.Join(made.Networks, ", ")
	}
	to, err := c.target()
	if err != nil {
		return err
	}
	endpoint := strings.TrimRight(view.Client.Endpoint, "/") + made.Path
	if to.CA != "" {
		endpoint += " --ca FILE"
	}
	fmt.Fprintf(t.out, "On %s, before %s, for location %s:\n\n  MUSTER_TOKEN=%s muster agent --endpoint %s\n",
		where, made.Expires.Local().Format(time.DateTime), made.Location, made.Token, endpoint)
	if to.CA != "" {
		fmt.Fprintln(t.out, "\nFILE is a copy of the certificates that this command trusts: the --ca of this command or of 'muster login'.")
	}
	return nil
}

type listJoinTokensCommand struct{ lookFlags }

// Run lists the tokens.
func (c *listJoinTokensCommand) Run(t *streams, view *terminal.Terminal) error {
	head := []string{"TOKEN", "NAME", "LOCATION", "NETWORKS", "USES", "LAST USED", "EXPIRES"}
	return terminal.List(t.ctx, view, view.Client.JoinTokens, head, func(token protocol.JoinToken) []string {
		last := "-"
		if !token.LastUsed.IsZero() {
			last = token.LastUsed.Local().Format(time.DateTime)
		}
		return []string{
			token.TokenID, token.Name, token.Location, cmp.Or(strings.Join(token.Networks, ","), "any"), fmt.Sprintf("%d/%d", token.Uses, token.MaxUses),
			last, token.Expires.Local().Format(time.DateTime),
		}
	})
}

type revokeJoinTokenCommand struct {
	clientFlags
	ID string `arg:"" help:"The token's id, jt-…, as 'list' shows it."`
}

// Run revokes a token.
func (c *revokeJoinTokenCommand) Run(t *streams, api *client.Client) error {
	if err := api.RevokeJoinToken(t.ctx, c.ID); err != nil {
		return err
	}
	_, err := fmt.Fprintf(t.out, "%s is revoked.\n", c.ID)
	return err
}
