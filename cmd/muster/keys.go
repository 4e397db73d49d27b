package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/terminal"
)

// keysCommand is `muster admin keys`.
type keysCommand struct {
	Create  createKeyCommand  `cmd:"" help:"Make a key and print it; its secret is shown this once."`
	List    listKeysCommand   `cmd:"" help:"List keys and when they were last used."`
	First   firstKeyCommand   `cmd:"" help:"Print the admin key that a server's first start wrote to its data directory."`
	Disable disableKeyCommand `cmd:"" help:"Refuse a key from now on, until it is enabled again."`
	Enable  enableKeyCommand  `cmd:"" help:"Take a disabled key again."`
	Rotate  rotateKeyCommand  `cmd:"" help:"Make a key with the name, role and scope of another; both are good until the old one ends or is deleted."`
	Delete  deleteKeyCommand  `cmd:"" help:"Delete a key."`
}

// keyFlags say where the keys are: on a running server, or in a state that no server is
// using.
type keyFlags struct {
	lookFlags
	storeFlags
	Offline           bool   `help:"Work on the state itself, while no server runs on it, instead of asking a running server."`
	Data              string `placeholder:"DIR" help:"With --offline: the server's data directory."`
	MasterKey         string `name:"master-key-file" placeholder:"FILE" help:"With --offline: file with the key that seals secrets (master.key in the data directory)."`
	Cell              string `default:"default" help:"With --offline: name of the state within the store (${default})."`
	ServersAreStopped bool   `help:"With --offline on PostgreSQL: say that no server runs on the database."`
}

// with calls f with a terminal that talks to the server or, offline, opens the state itself.
func (k *keyFlags) with(t *streams, f func(*terminal.Terminal) error) error {
	if !k.Offline {
		if err := k.online(); err != nil {
			return err
		}
		view, err := k.ProvideTerminal(t)
		if err != nil {
			return err
		}
		return f(view)
	}
	o := app.Options{
		DataDir: k.Data, MasterKeyFile: k.MasterKey, Cell: k.Cell, Region: cmp.Or(k.Region, app.DefaultRegion), Logger: slog.New(slog.NewTextHandler(t.err, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	if err := k.apply(&o); err != nil {
		return err
	}
	keys, err := app.OpenKeys(t.ctx, o, k.ServersAreStopped)
	if err != nil {
		return err
	}
	offline := &client.Client{Endpoint: "http://offline", HTTP: &http.Client{Transport: keys}}
	err = f(&terminal.Terminal{Client: offline, Out: t.out, JSON: k.json()})
	return errors.Join(err, keys.Close())
}

// online refuses flags for a state if a running server is to be used.
func (k *keyFlags) online() error {
	for _, f := range []struct{ name, value, variable string }{
		{"--data", k.Data, "MUSTER_DATA"}, {"--master-key-file", k.MasterKey, "MUSTER_MASTER_KEY_FILE"},
	} {
		if f.value != "" && f.value != os.Getenv(f.variable) {
			return fmt.Errorf("%s is for --offline, while no server runs; to ask a running server say --endpoint URL --credentials FILE", f.name)
		}
	}
	return nil
}

type createKeyCommand struct {
	keyFlags
	Name    string   `arg:"" help:"What the key is for."`
	Role    string   `required:"" enum:"admin,operator,game-backend,game-server,player-data,remote-shell,read-only" help:"admin, operator, game-backend, game-server, player-data, remote-shell or read-only."`
	Scope   []string `placeholder:"ARN|KEY=VALUE" help:"Hold the key to resources by ARN, in which * stands for any characters, or by tag; may be repeated."`
	Expires string   `placeholder:"WHEN" help:"When the key ends: after a time such as 12h or 90d, or at 2026-12-31T00:00:00Z."`
}

// Run creates a key.
func (c *createKeyCommand) Run(t *streams) error {
	spec := client.KeySpec{Name: c.Name, Role: c.Role}
	var err error
	if spec.Scope, err = scopeOf(c.Scope); err != nil {
		return err
	}
	if spec.Expires, err = when("expires", c.Expires, time.Now()); err != nil {
		return err
	}
	return c.with(t, func(view *terminal.Terminal) error {
		made, err := view.Client.Keys().Create(t.ctx, spec)
		if err != nil {
			return err
		}
		return showNew(view, &made)
	})
}

// showNew prints a new key with its secret.
func showNew(view *terminal.Terminal, made *client.Key) error {
	if view.JSON {
		return terminal.WriteJSON(view.Out, map[string]any{
			"AccessKeyId": made.ID, "SecretAccessKey": made.Secret, "Role": made.Role, "Name": made.Name,
		})
	}
	_, err := fmt.Fprintf(view.Out, "AWS_ACCESS_KEY_ID=%s\nAWS_SECRET_ACCESS_KEY=%s\n", made.ID, made.Secret)
	return err
}

type listKeysCommand struct{ keyFlags }

// Run lists the keys.
func (c *listKeysCommand) Run(t *streams) error {
	head := []string{"KEY", "NAME", "ROLE", "STATUS", "CREATED", "EXPIRES", "LAST USED", "SCOPE"}
	return c.with(t, func(view *terminal.Terminal) error {
		return terminal.List(t.ctx, view, view.Client.Keys().List, head, func(k client.Key) []string {
			return []string{k.ID, k.Name, k.Role, k.Status, moment(k.Created), moment(k.Expires), moment(k.LastUsed), k.Scope.String()}
		})
	})
}

type firstKeyCommand struct {
	Data string `default:"./muster-data" placeholder:"DIR" help:"The server's data directory (${default})."`
}

// Run prints the first key's file. The container image has no other program that could.
func (c *firstKeyCommand) Run(t *streams) error {
	text, err := app.FirstKey(c.Data)
	if err != nil {
		return err
	}
	_, err = t.out.Write(text)
	return err
}

// moment formats a time, or "-" for none.
func moment(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.UTC().Format(time.RFC3339)
}

// oneKeyFlags are shared by the commands for one key.
type oneKeyFlags struct {
	keyFlags
	ID string `arg:"" help:"Access key id."`
}

type disableKeyCommand struct{ oneKeyFlags }

// Run disables a key.
func (c *disableKeyCommand) Run(t *streams) error {
	return c.with(t, func(view *terminal.Terminal) error {
		_, err := view.Client.Keys().Disable(t.ctx, c.ID)
		return err
	})
}

type enableKeyCommand struct{ oneKeyFlags }

// Run enables a key.
func (c *enableKeyCommand) Run(t *streams) error {
	return c.with(t, func(view *terminal.Terminal) error {
		_, err := view.Client.Keys().Enable(t.ctx, c.ID)
		return err
	})
}

type rotateKeyCommand struct {
	keyFlags
	ID       string `arg:"" help:"Access key id of the key to replace."`
	Expires  string `placeholder:"WHEN" help:"When the new key ends; without it, it lives as long as the old one was given."`
	OldUntil string `placeholder:"WHEN" help:"When the old key ends, such as 24h; without it, it is good until it is deleted."`
}

// Run replaces a key.
func (c *rotateKeyCommand) Run(t *streams) error {
	var r client.KeyRotation
	var err error
	if r.Expires, err = when("expires", c.Expires, time.Now()); err != nil {
		return err
	}
	if r.OldUntil, err = when("old-until", c.OldUntil, time.Now()); err != nil {
		return err
	}
	return c.with(t, func(view *terminal.Terminal) error {
		made, err := view.Client.Keys().Rotate(t.ctx, c.ID, r)
		if err != nil {
			return err
		}
		return showNew(view, &made)
	})
}

type deleteKeyCommand struct{ oneKeyFlags }

// Run deletes a key.
func (c *deleteKeyCommand) Run(t *streams) error {
	return c.with(t, func(view *terminal.Terminal) error { return view.Client.Keys().Delete(t.ctx, c.ID) })
}

// scopeOf parses a scope: patterns of ARNs, and tags as KEY=VALUE.
func scopeOf(parts []string) (s client.KeyScope, err error) {
	for _, part := range parts {
		if strings.HasPrefix(part, "arn:") {
			s.Resources = append(s.Resources, part)
			continue
		}
		key, value, ok := strings.Cut(part, "=")
		if !ok {
			return s, fmt.Errorf("scope: %q is neither an ARN such as arn:aws:gamelift:*:*:fleet/* nor a tag KEY=VALUE", part)
		}
		if s.Tags == nil {
			s.Tags = map[string]string{}
		}
		s.Tags[key] = value
	}
	return s, nil
}

// when parses a time: a duration from now, or RFC 3339; "" is the zero time.
func when(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= 36500 {
			return now.Add(time.Duration(n) * 24 * time.Hour), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(d), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s: %q is neither a time from now on, such as 12h or 90d, nor one such as 2026-12-31T00:00:00Z", flag, text)
	}
	return at, nil
}
