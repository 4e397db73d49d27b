package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/terminal"
)

// outputFlags choose how results are shown.
type outputFlags struct {
	Output string `short:"o" group:"server" enum:"table,json" default:"table" help:"table or json (${default})."`
}

func (f *outputFlags) json() bool { return f.Output == "json" }

// clientFlags say which server to use, and with which key.
type clientFlags struct {
	Endpoint    string `aliases:"endpoint-url" group:"server" default:"http://127.0.0.1:9080" placeholder:"URL" help:"Base URL of the server (${default})."`
	Region      string `default:"us-east-1" group:"server" help:"Region to sign for (${default})."`
	Credentials string `group:"server" placeholder:"FILE" type:"existingfile" help:"Credentials file, such as admin-credentials in the server's data directory; without it AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are used where set."`
	CA          string `name:"ca" group:"server" placeholder:"FILE" type:"existingfile" help:"PEM certificates to trust besides the system's."`
}

// ProvideClient is called by kong for commands whose Run takes a client.
func (f *clientFlags) ProvideClient() (*client.Client, error) {
	c := &client.Client{Endpoint: f.Endpoint, Region: f.Region, Credentials: client.Credentials{
		AccessKeyID:     os.Getenv("AWS_ACCESS_KEY_ID"),
		SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY"),
		SessionToken:    os.Getenv("AWS_SESSION_TOKEN"),
	}}
	if f.Credentials != "" {
		var err error
		if c.Credentials, err = readCredentials(f.Credentials); err != nil {
			return nil, err
		}
	}
	if f.CA != "" {
		config, err := trusting(f.CA)
		if err != nil {
			return nil, err
		}
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.TLSClientConfig = config
		c.HTTP = &http.Client{Transport: transport}
	}
	return c, nil
}

// trusting returns the configuration for trusting a file of certificates besides the
// system's.
func trusting(file string) (*tls.Config, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read certificates: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read certificates: %s holds none", file)
	}
	return &tls.Config{RootCAs: pool}, nil
}

// readCredentials reads the first profile of a file in the form of AWS's tools.
func readCredentials(file string) (client.Credentials, error) {
	f, err := os.Open(file)
	if err != nil {
		return client.Credentials{}, fmt.Errorf("read credentials: %w", err)
	}
	defer f.Close()
	values := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, value, ok := strings.Cut(lines.Text(), "=")
		if name = strings.TrimSpace(name); ok && values[name] == "" {
			values[name] = strings.TrimSpace(value)
		}
	}
	c := client.Credentials{
		AccessKeyID: values["aws_access_key_id"], SecretAccessKey: values["aws_secret_access_key"], SessionToken: values["aws_session_token"],
	}
	if c.AccessKeyID == "" || c.SecretAccessKey == "" {
		return c, fmt.Errorf("read credentials: %s has no aws_access_key_id and aws_secret_access_key", file)
	}
	return c, nil
}

// lookFlags are shared by the commands that show something of a server.
type lookFlags struct {
	clientFlags
	outputFlags
}

// ProvideTerminal is called by kong for commands whose Run takes a Terminal.
func (f *lookFlags) ProvideTerminal(t *streams) (*terminal.Terminal, error) {
	c, err := f.ProvideClient()
	return &terminal.Terminal{Client: c, Out: t.out, JSON: f.json()}, err
}

type watchFlags struct {
	lookFlags
	Watch bool          `short:"w" help:"Show it again and again."`
	Every time.Duration `default:"2s" help:"Pause of --watch (${default})."`
}

// ProvideTerminal is like that of lookFlags.
func (f *watchFlags) ProvideTerminal(t *streams) (*terminal.Terminal, error) {
	view, err := f.lookFlags.ProvideTerminal(t)
	if f.Watch {
		view.Watch, view.Screen = f.Every, t.screen
	}
	return view, err
}

type fleetsCommand struct {
	watchFlags
	ByLocation bool `help:"A line for each location of a fleet."`
}

// Run shows the fleets.
func (c *fleetsCommand) Run(t *streams, view *terminal.Terminal) error {
	return view.Fleets(t.ctx, c.ByLocation)
}

// sessionsCommand is `muster sessions`.
type sessionsCommand struct {
	List listSessionsCommand `cmd:"" default:"withargs" help:"Show game sessions."`
	Logs sessionLogsCommand  `cmd:"" help:"Show the end of the log of the game server that hosts a game session now."`
}

type listSessionsCommand struct {
	watchFlags
	Fleet  string `placeholder:"ID" help:"Only this fleet's."`
	Status string `placeholder:"STATUS" help:"Only those that are ACTIVATING, ACTIVE, TERMINATING or TERMINATED."`
}

// Run shows game sessions.
func (c *listSessionsCommand) Run(t *streams, view *terminal.Terminal) error {
	return view.Sessions(t.ctx, terminal.SessionFilter{FleetID: c.Fleet, Status: c.Status})
}

type sessionLogsCommand struct {
	lookFlags
	ID     string `arg:"" help:"The GameSessionId, or the id that 'muster sessions' shows."`
	Follow bool   `short:"f" help:"Go on with what it writes, until the game session ends."`
}

// Run shows the log of a game session.
func (c *sessionLogsCommand) Run(t *streams, view *terminal.Terminal) error {
	return view.SessionLog(t.ctx, c.ID, c.Follow)
}

type eventsCommand struct {
	lookFlags
	Follow  bool   `short:"f" help:"Go on with new events until stopped; reconnects by itself."`
	After   uint64 `placeholder:"SEQ" help:"Only events behind this sequence number."`
	Last    int    `default:"20" help:"How many old events to begin with (${default})."`
	Fleet   string `placeholder:"ID" help:"Only what concerns this fleet."`
	Session string `placeholder:"ARN" help:"Only what concerns this game session."`
}

// Run shows the event log.
func (c *eventsCommand) Run(t *streams, view *terminal.Terminal) error {
	return view.Events(t.ctx, client.EventQuery{
		After: c.After, Last: c.Last, Follow: c.Follow, FleetID: c.Fleet, GameSessionID: c.Session,
		Reconnected: func(err error) { fmt.Fprintln(t.err, "muster: connection lost, trying again:", err) },
	})
}
