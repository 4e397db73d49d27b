package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/terminal"
	"github.com/musterhq/muster/internal/plain"
)

// adminCommand is `muster admin`: work on keys, tokens and the state.
type adminCommand struct {
	Keys       keysCommand            `cmd:"" help:"Access keys of a running server, or with --offline of a stopped one."`
	Logins     loginsCommand          `cmd:"" help:"Logins to the console of a running server: see them, end them."`
	JoinToken  createJoinTokenCommand `cmd:"" help:"Short for 'join-tokens create'."`
	JoinTokens joinTokensCommand      `cmd:"" help:"Tokens with which machines join; on a running server."`
	Servers    serversCommand         `cmd:"" help:"The servers that share the state of a running server: their releases, and which one the feature level waits for."`
	Backup     backupCommand          `cmd:"" help:"Write the state to a new file; the server may be running."`
	Restore    restoreCommand         `cmd:"" help:"Fill an empty data directory or database from a backup."`
	Verify     verifyCommand          `cmd:"" help:"Check everything that is kept, or a backup."`
	Audit      auditCommand           `cmd:"" help:"Who asked for what: the audit log of a running server."`
}

// AfterApply is called by kong before a command's Run.
func (c *adminCommand) AfterApply() error {
	private()
	return nil
}

// clock shows for how long some work has been going on, until stop is called.
func clock(t *streams, what string) (stop func()) {
	line := terminal.NewLine(t.ctx, t.screenErr)
	over := line.Clock(what)
	return func() {
		over()
		line.End()
	}
}

type backupCommand struct {
	stateFlags
	File string `arg:"" type:"path" help:"File to write; it must not exist."`
}

// Run writes a backup and checks it.
func (c *backupCommand) Run(t *streams, o app.Options) error {
	stop := clock(t, "backing up")
	err := app.Backup(t.ctx, o, c.File)
	stop()
	if err != nil {
		return err
	}
	stop = clock(t, "checking the backup")
	report, err := app.Verify(t.ctx, o, c.File)
	stop()
	if err != nil {
		return err
	}
	if len(report.Problems) > 0 {
		return fmt.Errorf("the backup was written but is not sound: %s", strings.Join(report.Problems, "; "))
	}
	fmt.Fprintf(t.out, "backed up%s to %s: sequence %d, digest %s\n", regionOf(report), c.File, report.Fence.Seq, report.Digest)
	fmt.Fprintln(t.out, "The master key is not in it: keep a copy of master.key from the data directory too.")
	return nil
}

// regionOf returns a phrase with the region of a state, "" if its deployment always had one.
func regionOf(v app.Verified) string {
	if v.Region == "" {
		return ""
	}
	return " the region " + v.Region
}

type restoreCommand struct {
	stateFlags
	File string `arg:"" type:"existingfile" help:"Backup to read."`
}

// Run restores a backup and checks the result.
func (c *restoreCommand) Run(t *streams, o app.Options) error {
	stop := clock(t, "restoring")
	err := app.Restore(t.ctx, o, c.File)
	stop()
	if err != nil {
		return err
	}
	stop = clock(t, "checking what was restored")
	report, err := app.Verify(t.ctx, o, "")
	stop()
	if err != nil {
		return err
	}
	if len(report.Problems) > 0 {
		return fmt.Errorf("restored, but not sound: %s", strings.Join(report.Problems, "; "))
	}
	fmt.Fprintf(t.out, "restored %s: sequence %d, digest %s\n", c.File, report.Fence.Seq, report.Digest)
	if len(report.MissingBuilds) > 0 {
		fmt.Fprintln(t.out, "The server needs the files of "+strings.Join(report.MissingBuilds, ", ")+": copy the folder blobs into the data directory, or give --blobs.")
	}
	fmt.Fprintln(t.out, "The server needs the master key that belongs to it: master.key in its data directory, or --master-key-file.")
	return nil
}

type verifyCommand struct {
	stateFlags
	outputFlags
	File string `arg:"" optional:"" type:"existingfile" help:"A backup, of any region; without it the state itself is checked."`
}

// Run checks and reports. It fails if there are problems.
func (c *verifyCommand) Run(t *streams, o app.Options) error {
	stop := clock(t, "checking")
	report, err := app.Verify(t.ctx, o, c.File)
	stop()
	if err != nil {
		return err
	}
	if c.json() {
		err = json.NewEncoder(t.out).Encode(report)
	} else {
		w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "TABLE\tLIVE\tARCHIVED")
		for _, table := range report.Tables {
			fmt.Fprintf(w, "%s\t%d\t%d\n", table.Name, table.Live, table.Archived)
		}
		for _, l := range report.Logs {
			fmt.Fprintf(w, "%s\t%d\t-\n", l.Name, l.Entries)
		}
		if report.Region != "" {
			fmt.Fprintf(w, "\nregion %s", report.Region)
		}
		fmt.Fprintf(w, "\nsequence %d, digest %s\n", report.Fence.Seq, report.Digest)
		err = w.Flush()
	}
	if err == nil && len(report.Problems) > 0 {
		err = fmt.Errorf("%d problems: %s", len(report.Problems), strings.Join(report.Problems, "; "))
	}
	if err == nil && len(report.MissingBuilds) > 0 {
		err = fmt.Errorf("the files of %s are not here: %s; hosts cannot fetch them. Copy the folder blobs into the data directory, or give --blobs",
			plain.Count(len(report.MissingBuilds), "build"), strings.Join(report.MissingBuilds, ", "))
	}
	return err
}

// replayCommand is `muster replay`.
type replayCommand struct {
	logFlags
	outputFlags
	Region  string `default:"us-east-1" help:"Region that the server ran with (${default})."`
	Account string `default:"000000000000" help:"Account number that the server ran with (${default})."`
	File    string `arg:"" type:"existingfile" help:"What --record wrote."`
}

// Run replays a recording. It fails on a divergence.
func (c *replayCommand) Run(t *streams) error {
	o := app.Options{Region: c.Region, Account: c.Account, Logger: c.logger(t.err)}
	report, err := app.Replay(t.ctx, o, c.File)
	if err != nil {
		return err
	}
	if c.json() {
		err = json.NewEncoder(t.out).Encode(report)
	} else {
		_, err = fmt.Fprintf(t.out, "replayed %d commands: sequence %d, digest %s\n", report.Commands, report.Seq, report.Digest)
	}
	if d := report.Divergence; err == nil && d != nil {
		err = fmt.Errorf("command %d (%s) went another way than recorded: %s", d.Seq, d.Command, d.Reason)
	}
	if err == nil && !report.Ended {
		fmt.Fprintln(t.err, "muster: the recording does not end in order; what it holds was replayed")
	}
	return err
}
