package registry

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/internal/outgoing"
)

// Options configures a Client.
type Options struct {
	// Credentials is a file in the form of Docker's config.json ("auths"); it is read for
	// each image, so that changes need no restart. "" means none.
	Credentials string
	// Plain lists registries, each a HOST or HOST:PORT, that are reached over plain HTTP.
	// Those on a loopback address always are.
	Plain []string
}

// Client asks registries.
type Client struct {
	opts Options
	http *http.Client
}

// Limits of answers.
const (
	maxManifest = 4 << 20
	maxAnswer   = 64 << 10
	maxHead     = 64 << 10
	maxTime     = 20 * time.Second // of one request
)

// New returns a client.
func New(o Options) *Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: outgoing.Control}
	return &Client{opts: o, http: &http.Client{
		Timeout:       maxTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, TLSHandshakeTimeout: 10 * time.Second,
			MaxResponseHeaderBytes: maxHead, DisableKeepAlives: true, // images are asked for seldom
		},
	}}
}

// Refused is a registry's answer that asking again does not change: the image does not
// exist, or may not be read.
type Refused struct{ Reason string }

// Error returns the reason.
func (r *Refused) Error() string { return r.Reason }

// vague is an error whose cause is not for callers: it would describe hosts that they cannot
// ask themselves, or this server's files.
type vague struct {
	text  string
	cause error
}

// Error returns the text without the cause.
func (v *vague) Error() string { return v.text }

// Unwrap returns the cause.
func (v *vague) Unwrap() error { return v.cause }

// unreachable returns the error for a host that did not answer.
func unreachable(host string, cause error) error {
	why := "it does not answer as a registry does"
	name, isName := errors.AsType[*net.DNSError](cause)
	deadline, timed := errors.AsType[net.Error](cause)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](cause)
	switch {
	case errors.Is(cause, outgoing.ErrForbidden):
		why = "Muster sends nothing to link-local, multicast and unspecified addresses"
	case isName && name.IsNotFound:
		why = "its name is not known"
	case timed && deadline.Timeout():
		why = "it did not answer in time"
	case certificate:
		why = "its certificate is not valid for this server"
	case errors.Is(cause, syscall.ECONNREFUSED):
		why = "it refuses connections"
	}
	return &vague{fmt.Sprintf("registry %s cannot be reached: %s", host, why), cause}
}

func refuse(format string, args ...any) error { return &Refused{fmt.Sprintf(format, args...)} }

// accept lists what an image's name may stand for: an image, or one for each platform.
var accept = []string{
	"application/vnd.oci.image.index.v1+json", "application/vnd.oci.image.manifest.v1+json",
	"application/vnd.docker.distribution.manifest.list.v2+json", "application/vnd.docker.distribution.manifest.v2+json",
}

// Resolve returns the digest of the content that an image's name stands for now. A name
// with a digest is answered without asking. The error is a *Refused if it is final.
func (c *Client) Resolve(ctx context.Context, image string) (string, error) {
	ref, err := Parse(image)
	if err != nil {
		return "", refuse("%v", err)
	}
	if ref.Digest != "" {
		return ref.Digest, nil
	}
	mine, err := c.credentials(ref.Host)
	if err != nil {
		return "", err
	}
	a := &asker{client: c, ref: ref, mine: mine}
	resp, err := a.ask(ctx, http.MethodHead)
	if err != nil {
		return "", err
	}
	resp.Body.Close()
	if digest := resp.Header.Get("Docker-Content-Digest"); digest != "" {
		if !digestForm.MatchString(digest) {
			return "", refuse("registry %s: its digest of the image is not sha256", ref.Host)
		}
		return digest, nil
	}
	if resp, err = a.ask(ctx, http.MethodGet); err != nil { // registries need not send the header
		return "", err
	}
	defer resp.Body.Close()
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || !slices.Contains(accept, kind) {
		return "", refuse("registry %s: what it answered is no image's manifest", ref.Host)
	}
	return digestOf(ref, resp.Body)
}

// digestOf returns the digest of a manifest.
func digestOf(ref Reference, manifest io.Reader) (string, error) {
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(manifest, maxManifest+1))
	switch {
	case err != nil:
		return "", unreachable(ref.Host, err)
	case n > maxManifest:
		return "", refuse("registry %s: the image's manifest is larger than %d bytes", ref.Host, maxManifest)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

// asker asks one registry for one image, with what it got to show for it.
type asker struct {
	client        *Client
	ref           Reference
	mine          login
	authorization string
}

// ask requests the manifest, authenticating if the registry demands it. The response is a
// success.
func (a *asker) ask(ctx context.Context, method string) (*http.Response, error) {
	resp, err := a.request(ctx, method)
	if err == nil && resp.StatusCode == http.StatusUnauthorized && a.authorization == "" {
		resp.Body.Close()
		if a.authorization, err = a.authorize(ctx, resp.Header.Values("Www-Authenticate")); err == nil {
			resp, err = a.request(ctx, method)
		}
	}
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, a.answered(resp)
}

func (a *asker) request(ctx context.Context, method string) (*http.Response, error) {
	at := a.client.scheme(a.ref.Host) + "://" + a.ref.address() + "/v2/" + a.ref.Repository + "/manifests/" + a.ref.Tag
	req, err := http.NewRequestWithContext(ctx, method, at, http.NoBody)
	if err != nil {
		return nil, refuse("registry %s: the name makes no URL", a.ref.Host)
	}
	req.Header.Set("Accept", strings.Join(accept, ", "))
	return a.send(req, a.authorization)
}

func (a *asker) send(req *http.Request, authorization string) (*http.Response, error) {
	req.Header.Set("User-Agent", "Muster-Registry/1")
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	resp, err := a.client.http.Do(req)
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if err != nil {
		return nil, unreachable(req.URL.Host, err)
	}
	return resp, nil
}

func (c *Client) scheme(host string) string {
	if isLoopback(host) || slices.Contains(c.opts.Plain, host) {
		return "http"
	}
	return "https"
}

// answered returns the error for an answer that is not a success.
func (a *asker) answered(resp *http.Response) error {
	text := fmt.Sprintf("registry %s answered HTTP %d%s", a.ref.Host, resp.StatusCode, codes(resp.Body))
	switch code := resp.StatusCode; {
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= 500:
		return errors.New(text)
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		if a.mine == (login{}) {
			return refuse("%s: the image is private or does not exist, and this server has no credentials for %s", text, a.ref.Host)
		}
		return refuse("%s: this server's credentials for %s may not read the image, or it does not exist", text, a.ref.Host)
	case code == http.StatusNotFound:
		return refuse("%s: there is no such repository or tag", text)
	case code/100 == 3:
		return refuse("%s: redirects are not followed", text)
	}
	return refuse("%s", text)
}

// codes returns the error codes in an answer. Its other text is not repeated: the host may
// be one that the caller could not ask itself.
func codes(body io.Reader) string {
	raw, _ := io.ReadAll(io.LimitReader(body, maxAnswer))
	var answer struct {
		Errors []struct {
			Code string `json:"code"`
		} `json:"errors"`
	}
	if json.Unmarshal(raw, &answer) != nil {
		return ""
	}
	var text strings.Builder
	for _, e := range answer.Errors[:min(len(answer.Errors), 3)] {
		if codeForm.MatchString(e.Code) {
			text.WriteString(" " + e.Code)
		}
	}
	return text.String()
}
