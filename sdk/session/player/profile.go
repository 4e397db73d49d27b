package player

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// Account is what the player may know of the own account.
type Account = protocol.Player

// Profile is what anybody may know of a player: name and public data.
type Profile = protocol.PublicPlayer

// Item is a value of a player's data, with its version.
type Item = protocol.DataItem

// Account returns the player's own account.
func (c *Client) Account(ctx context.Context) (Account, error) {
	var out Account
	err := c.account.call(ctx, call{method: http.MethodGet, path: "/players/me"}, &out)
	return out, err
}

// Rename changes the player's display name, 3 to 32 printable characters. Names need not
// be unique. Errors: ErrInvalid.
func (c *Client) Rename(ctx context.Context, displayName string) (Account, error) {
	var out Account
	in := &protocol.PlayerChange{DisplayName: displayName}
	err := c.account.call(ctx, call{method: http.MethodPatch, path: "/players/me", in: in}, &out)
	return out, err
}

// Profile returns what anybody may know of a player. Errors: ErrNotFound.
func (c *Client) Profile(ctx context.Context, playerID string) (Profile, error) {
	var out Profile
	err := c.account.call(ctx, call{method: http.MethodGet, path: "/players/" + url.PathEscape(playerID)}, &out)
	return out, err
}

// LookUp returns what anybody may know of players, in the order of the request and
// without those that do not exist. Errors: ErrInvalid for none or more than 50 ids.
func (c *Client) LookUp(ctx context.Context, playerIDs ...string) ([]Profile, error) {
	var out protocol.PublicPlayers
	in := &protocol.PlayerLookup{IDs: playerIDs}
	err := c.account.call(ctx, call{method: http.MethodPost, path: "/players/lookup", in: in}, &out)
	return out.Items, err
}

// AllData returns the data of a namespace (private, public or server) by key.
func (c *Client) AllData(ctx context.Context, namespace string) (map[string]Item, error) {
	var out protocol.DataItems
	err := c.account.call(ctx, call{method: http.MethodGet, path: "/players/me/data/" + url.PathEscape(namespace)}, &out)
	return out.Items, err
}

// DeleteData deletes a value, if the current version is the expected one; AnyVersion
// deletes any. Errors: ErrNotFound, ErrConflict if the version is another one,
// ErrUnauthorized (the namespace server is read-only).
func (c *Client) DeleteData(ctx context.Context, namespace, key string, expected int64) error {
	r := call{method: http.MethodDelete, path: dataPath(namespace, key), header: http.Header{}}
	if expected != AnyVersion {
		r.header.Set("If-Match", strconv.Quote(strconv.FormatInt(expected, 10)))
	}
	return c.account.call(ctx, r, nil)
}

// Tickets returns the player's tickets, the newest first; open leaves out those that
// have ended.
func (c *Client) Tickets(ctx context.Context, open bool) ([]session.Ticket, error) {
	path := ticketsPath
	if open {
		path += "?active=true"
	}
	var found protocol.Tickets
	if err := c.account.call(ctx, call{method: http.MethodGet, path: path}, &found); err != nil {
		return nil, err
	}
	var all []session.Ticket
	for i := range found.Items {
		all = append(all, ticketOf(&found.Items[i], c.PlayerID()))
	}
	return all, nil
}
