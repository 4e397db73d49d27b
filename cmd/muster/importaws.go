package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/setup/live"
)

// importCommand is `muster import`.
type importCommand struct {
	AWS importAWSCommand `cmd:"" name:"aws" help:"Read the set-up of an AWS account, and write it as a file for 'muster apply'."`
}

// importAWSCommand is `muster import aws`. Its flags are those of AWS's own tools, since it
// talks to AWS and not to a Muster server.
type importAWSCommand struct {
	Profile string `env:"AWS_PROFILE" placeholder:"NAME" help:"Profile of AWS's configuration; without it, the environment's credentials."`
	Region  string `name:"region" env:"AWS_REGION,AWS_DEFAULT_REGION" placeholder:"REGION" help:"Region to read; without it, the profile's."`
	Out     string `placeholder:"FILE" type:"path" help:"Write the file there instead of to the terminal."`

	Overwrite bool `help:"With --out: replace FILE if it exists."`
}

// Run reads the account and writes the file; what has no counterpart goes to standard error.
func (c *importAWSCommand) Run(t *streams) error {
	if c.Out != "" && !c.Overwrite {
		// It may have been edited since it was imported.
		switch _, err := os.Lstat(c.Out); {
		case err == nil:
			return fmt.Errorf("--out: %s exists, and is left as it is: choose another file, or say --overwrite to replace it", c.Out)
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("--out: %w", err)
		}
	}
	var options []func(*awsconfig.LoadOptions) error
	if c.Profile != "" {
		options = append(options, awsconfig.WithSharedConfigProfile(c.Profile))
	}
	if c.Region != "" {
		options = append(options, awsconfig.WithRegion(c.Region))
	}
	account, err := awsconfig.LoadDefaultConfig(t.ctx, options...)
	if err != nil {
		return fmt.Errorf("read AWS's configuration: %w", err)
	}
	if account.Region == "" {
		return fmt.Errorf("no region: say --region, such as --region eu-west-1")
	}
	api := gamelift.NewFromConfig(account, live.Patiently)
	fmt.Fprintf(t.err, "reading Amazon GameLift in %s\n", account.Region)
	state, err := live.Read(t.ctx, api)
	if err != nil {
		return err
	}
	beyond, err := live.Beyond(t.ctx, api)
	if err != nil {
		return err
	}
	for _, note := range slices.Concat(state.Notes, state.Setup.Settled(), state.Setup.Moved(), beyond) {
		fmt.Fprintln(t.err, "note:", note)
	}
	return writeSetup(t, state.Setup, c.Out)
}
