package main

import "github.com/musterhq/muster/cli/client"

// authorityCommand is `muster ca`.
type authorityCommand struct{ clientFlags }

// Run prints the certificate that game clients trust.
func (c *authorityCommand) Run(t *streams, api *client.Client) error {
	text, err := api.Authority(t.ctx)
	if err != nil {
		return err
	}
	_, err = t.out.Write(text)
	return err
}
