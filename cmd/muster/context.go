package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/contexts"
	"github.com/musterhq/muster/cli/terminal"
)

// loginCommand is `muster login`.
type loginCommand struct {
	URL         string `arg:"" placeholder:"URL" help:"Base URL of the server, such as https://muster.example.com; without a scheme it is https, or http on this machine."`
	Name        string `placeholder:"NAME" help:"Name of the context (the URL's host)."`
	Credentials string `placeholder:"FILE" help:"File with the access key, as 'muster admin keys create' prints it or as AWS's tools keep it; - is standard input (asked for on a terminal, else AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)."`
	Region      string `env:"-" help:"Region to use of those that the server has (its home region)."`
	CA          string `name:"ca" placeholder:"FILE" type:"existingfile" help:"PEM certificates to trust besides the system's; they are kept in the context."`
}

// Help is shown by --help.
func (loginCommand) Help() string {
	return `The key is checked with the server, and kept with the URL in a file that only you can read: contexts.yaml in the folder muster of your configuration folder, or the file that MUSTER_CONTEXTS names. From then on commands use this server, until another context is chosen or --endpoint, --context or a variable says otherwise.`
}

// Run logs in to a server.
func (c *loginCommand) Run(t *streams) error {
	all, err := contexts.Read()
	if err != nil {
		return err
	}
	base, err := baseURL(c.URL)
	if err != nil {
		return err
	}
	to := target{Context: contexts.Context{Endpoint: base.String(), Region: cmp.Or(c.Region, usualRegion)}}
	if c.CA != "" {
		pem, err := os.ReadFile(c.CA)
		if err != nil {
			return fmt.Errorf("read certificates: %w", err)
		}
		to.CA = string(pem)
	}
	key, err := c.key(t)
	if err != nil {
		return err
	}
	to.AccessKeyID, to.Secret = key.AccessKeyID, key.SecretAccessKey
	api, err := to.client()
	if err != nil {
		return err
	}
	me, err := api.Me(t.ctx)
	if err != nil {
		return err
	}
	to.Region = cmp.Or(c.Region, me.Region)
	name := cmp.Or(c.Name, base.Hostname())
	if err := all.Put(name, to.Context); err != nil {
		return err
	}
	who := fmt.Sprintf("as %s, with the role %s", me.Name, me.Role)
	if me.Local {
		who = "without a key: it accepts any credentials"
	}
	view := &terminal.Terminal{Out: t.out}
	return view.Report(nil, "Logged in to %s %s. The context %s is now the current one, and kept in %s.", to.Endpoint, who, name, all.Path())
}

// baseURL returns the URL that is typed, with a scheme.
func baseURL(text string) (*url.URL, error) {
	whole := text
	if !strings.Contains(text, "://") {
		whole = "https://" + text
		if u, err := url.Parse(whole); err == nil && isHere(u.Hostname()) {
			whole = "http://" + text
		}
	}
	u, err := url.Parse(strings.TrimRight(whole, "/"))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.User != nil {
		return nil, fmt.Errorf("login: %q is no base URL of a server, such as https://muster.example.com", text)
	}
	return u, nil
}

// isHere reports whether a host is this machine.
func isHere(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// key returns the key to log in with; without one it asks on the terminal. An empty answer
// is no key, for servers that accept any.
func (c *loginCommand) key(t *streams) (client.Credentials, error) {
	switch {
	case c.Credentials == "-":
		return parseCredentials(os.Stdin, "standard input")
	case c.Credentials != "":
		return readCredentials(c.Credentials)
	case !term.IsTerminal(int(os.Stdin.Fd())):
		return client.Credentials{AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY")}, nil
	}
	fmt.Fprint(t.err, "Access key id (none: press Enter): ")
	id, err := asked(t, func() (string, error) { return bufio.NewReader(os.Stdin).ReadString('\n') })
	if id = strings.TrimSpace(id); err != nil || id == "" {
		return client.Credentials{}, err
	}
	secret, err := askedInSecret(t, "Secret access key (not shown): ")
	if err != nil {
		return client.Credentials{}, err
	}
	return client.Credentials{AccessKeyID: id, SecretAccessKey: strings.TrimSpace(secret)}, nil
}

// askedInSecret returns the answer to a question at the terminal, which does not show it: the
// echo is off before the question appears.
func askedInSecret(t *streams, question string) (string, error) {
	stdin := int(os.Stdin.Fd())
	state, err := term.MakeRaw(stdin)
	if err != nil {
		return "", err
	}
	defer term.Restore(stdin, state)
	terminal := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{os.Stdin, t.err}, "")
	text, err := asked(t, func() (string, error) { return terminal.ReadPassword(question) })
	if err != nil {
		fmt.Fprint(t.err, "\r\n")
	}
	if errors.Is(err, io.EOF) { // Ctrl+C, too
		return "", errInterrupted
	}
	return text, err
}

var errInterrupted = errors.New("nothing is done")

// asked returns what read returns, or an error as soon as the command is interrupted.
func asked(t *streams, read func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		text, err := read()
		answered <- answer{text, err}
	}()
	select {
	case a := <-answered:
		return a.text, a.err
	case <-t.ctx.Done():
		return "", errInterrupted
	}
}

// logoutCommand is `muster logout`.
type logoutCommand struct {
	Name string `arg:"" optional:"" placeholder:"NAME" help:"The context (the current one)."`
}

// Run forgets a context and its key.
func (c *logoutCommand) Run(t *streams) error {
	all, err := contexts.Read()
	if err != nil {
		return err
	}
	name := cmp.Or(c.Name, all.Current)
	if name == "" {
		return errors.New("logout: no context is the current one; name one of those that 'muster context' shows")
	}
	gone, err := all.Named(name)
	if err != nil {
		return err
	}
	if err := all.Remove(name); err != nil {
		return err
	}
	view := &terminal.Terminal{Out: t.out}
	if gone.AccessKeyID == "" {
		return view.Report(nil, "The context %s is removed.", name)
	}
	return view.Report(nil, "The context %s is removed from this machine with its key. The server still accepts the key: an administrator ends it with 'muster admin keys delete %s'.", name, gone.AccessKeyID)
}

// contextCommand is `muster context`.
type contextCommand struct {
	outputFlags
	Name string `arg:"" optional:"" placeholder:"NAME" help:"The context to use from now on; without it, all are shown."`
}

// shownContext is a context without its secret.
type shownContext struct {
	Name        string `json:"name"`
	Current     bool   `json:"current"`
	Endpoint    string `json:"endpoint"`
	Region      string `json:"region,omitempty"`
	AccessKeyID string `json:"access_key_id,omitempty"`
}

// Run shows the contexts, or chooses one.
func (c *contextCommand) Run(t *streams) error {
	all, err := contexts.Read()
	if err != nil {
		return err
	}
	if c.Name != "" {
		if err := all.Use(c.Name); err != nil {
			return err
		}
		chosen, err := all.Named(c.Name)
		if err != nil {
			return err
		}
		view := &terminal.Terminal{Out: t.out, JSON: c.json()}
		return view.Report(shownContext{c.Name, true, chosen.Endpoint, chosen.Region, chosen.AccessKeyID}, "Commands now use %s.", chosen.Endpoint)
	}
	list := []shownContext{}
	table := terminal.Table{Head: []string{"", "CONTEXT", "SERVER", "REGION", "KEY"}}
	for _, name := range all.Names() {
		of := all.Contexts[name]
		list = append(list, shownContext{name, name == all.Current, of.Endpoint, of.Region, of.AccessKeyID})
		mark := ""
		if name == all.Current {
			mark = "*"
		}
		table.Rows = append(table.Rows, []string{mark, name, of.Endpoint, of.Region, cmp.Or(of.AccessKeyID, "none")})
	}
	for _, name := range []string{"MUSTER_ENDPOINT", "MUSTER_CONTEXT", "AWS_ENDPOINT_URL_GAMELIFT"} {
		if value := os.Getenv(name); value != "" {
			fmt.Fprintf(t.err, "note: %s is set to %s, and counts more than the current context\n", name, value)
			break
		}
	}
	switch {
	case c.json():
		return terminal.WriteJSON(t.out, list)
	case len(list) == 0:
		_, err := fmt.Fprintln(t.out, "There is no context: 'muster login URL' makes one. Until then commands use "+usualEndpoint+".")
		return err
	}
	return table.Write(t.out)
}
