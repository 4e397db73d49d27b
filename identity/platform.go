package identity

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
)

// remote verifies credentials by sending each one to the provider.
type remote struct {
	config ProviderConfig
	client *http.Client
}

type steamAnswer struct {
	Response struct {
		Params struct {
			Result          string `json:"result"`
			SteamID         string `json:"steamid"`
			OwnerSteamID    string `json:"ownersteamid"`
			VACBanned       bool   `json:"vacbanned"`
			PublisherBanned bool   `json:"publisherbanned"`
		} `json:"params"`
		Error struct {
			Code int    `json:"errorcode"`
			Text string `json:"errordesc"`
		} `json:"error"`
	} `json:"response"`
}

var hexText = regexp.MustCompile(`^[0-9A-Fa-f]+$`)

// steam verifies tickets with Steam (Steamworks Web API,
// ISteamUserAuth/AuthenticateUserTicket/v1).
func (r *remote) steam(ctx context.Context, c Credential) (proof, error) {
	if !hexText.MatchString(c.Token) {
		return proof{}, refuse(ProviderInvalid, "token: a Steam ticket is written in hex")
	}
	query := url.Values{"key": {r.config.Secret}, "appid": {r.config.AppID}, "ticket": {c.Token}}
	if c.Identity != "" {
		query.Set("identity", c.Identity)
	}
	var a steamAnswer
	if _, err := get(ctx, r.client, r.config.URL+"/ISteamUserAuth/AuthenticateUserTicket/v1/?"+query.Encode(), &a); err != nil {
		return proof{}, unreachable(r.config.Name, err)
	}
	p := a.Response.Params
	switch {
	case p.Result != "OK" || p.SteamID == "":
		return proof{}, refuse(ProviderInvalid, "Steam did not accept the ticket (code %d)", a.Response.Error.Code)
	case !r.config.AllowBanned && (p.VACBanned || p.PublisherBanned):
		return proof{}, refuse(Banned, "Steam has banned this account from the game")
	case !r.config.AllowBorrowed && p.OwnerSteamID != "" && p.OwnerSteamID != p.SteamID:
		return proof{}, refuse(ProviderInvalid, "the game is borrowed by Steam family sharing")
	}
	return proof{Subject: p.SteamID}, nil
}

// facebook verifies access tokens with Facebook: first the application that a token was
// issued to, and then its user (Graph API, /app and /me).
func (r *remote) facebook(ctx context.Context, c Credential) (proof, error) {
	var app, me struct {
		ID string `json:"id"`
	}
	token := "access_token=" + url.QueryEscape(c.Token)
	if _, err := get(ctx, r.client, r.config.URL+"/app?fields=id&"+token, &app); err != nil {
		return proof{}, unreachable(r.config.Name, err)
	}
	if app.ID != r.config.AppID {
		return proof{}, refuse(ProviderInvalid, "the access token of %s was made for another application", r.config.Name)
	}
	if _, err := get(ctx, r.client, r.config.URL+"/me?fields=id&"+token, &me); err != nil {
		return proof{}, unreachable(r.config.Name, err)
	}
	return proof{Subject: me.ID}, nil
}

// custom verifies tokens with the operator's webhook:
//
//	POST URL
//	X-Muster-Timestamp: 1763700000
//	X-Muster-Signature: hex(HMAC-SHA256(secret, timestamp "." body))
//	{"token": "…"}
//
// which answers 200 {"subject": "…"}, or 4xx for a token that is not valid.
func (r *remote) custom(ctx context.Context, c Credential) (proof, error) {
	body, err := json.Marshal(map[string]string{"token": c.Token})
	if err != nil {
		return proof{}, fmt.Errorf("encode token: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.config.URL, bytes.NewReader(body))
	if err != nil {
		return proof{}, err
	}
	at := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(r.config.Secret))
	mac.Write([]byte(at + "."))
	mac.Write(body)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Muster-Timestamp", at)
	request.Header.Set("X-Muster-Signature", hex.EncodeToString(mac.Sum(nil)))
	var answer struct {
		Subject string `json:"subject"`
	}
	if _, err := call(r.client, request, &answer); err != nil {
		return proof{}, unreachable(r.config.Name, err)
	}
	return proof{Subject: answer.Subject}, nil
}

// unreachable distinguishes a provider's refusal from a provider that does not answer.
// The error itself is not shown: it may contain the URL, which may contain the secret.
func unreachable(name string, err error) error {
	if errors.Is(err, errRejected) {
		return refuse(ProviderInvalid, "%s did not accept the token", name)
	}
	return refuse(ProviderUnavailable, "%s does not answer at the moment; try again", name)
}
