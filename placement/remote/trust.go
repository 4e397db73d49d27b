package remote

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"github.com/musterhq/muster/placement"
)

// trust logs when the certificate of a remote begins and ceases to be trusted.
type trust struct {
	config   *Config
	log      *slog.Logger
	withheld atomic.Bool // the last certificate was not trusted
}

// note takes the outcome of a request. It returns a refusal, which says what to do, if the
// certificate is not trusted: then nothing was sent.
func (t *trust) note(err error) error {
	wrong, ok := errors.AsType[*tls.CertificateVerificationError](err)
	if !ok {
		_, answered := errors.AsType[*awshttp.ResponseError](err)
		if (err == nil || answered) && t.withheld.CompareAndSwap(true, false) {
			t.log.Info("the certificate of a remote is trusted again", "remote", t.config.Name)
		}
		return nil
	}
	remedy := t.config.remedy(wrong.Err)
	if !t.withheld.Swap(true) {
		t.log.Warn("the certificate of a remote is not trusted; nothing can be placed there", "remote", t.config.Name, "endpoint", t.config.Endpoint, "error", wrong.Err, "remedy", remedy)
	}
	return &placement.Refusal{Kind: placement.Unreachable, Message: cut("its certificate is not trusted: " + wrong.Err.Error() + ": " + remedy)}
}

// remedy returns what makes a certificate trusted.
func (c *Config) remedy(why error) string {
	if _, ok := errors.AsType[x509.HostnameError](why); ok {
		return "in endpoint, name the remote as its certificate does"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](why); ok && invalid.Reason == x509.Expired {
		return "renew the certificate of the remote, or correct the clock of this machine"
	}
	if c.CA != "" {
		return fmt.Sprintf("write the certificate that it has now to %s, which ca of the remote names and which is read again by itself; %s", c.CA, selfSigned)
	}
	return "have ca of the remote name a file with the certificate of its authority, and start this server again; " + selfSigned
}

const selfSigned = "of a Muster with --tls self-signed that is server-cert.pem in its data directory"

// renewed sends requests by a transport that trusts what the file of ca had when it was read
// last. The file is read again when a certificate is not trusted, so that a remote can have
// another one without a restart of this server: the next request is sent with what it has now.
type renewed struct {
	config *Config
	now    atomic.Pointer[http.Transport]
}

func newRenewed(c *Config, t *http.Transport) *renewed {
	r := &renewed{config: c}
	r.now.Store(t)
	return r
}

// RoundTrip implements http.RoundTripper.
func (r *renewed) RoundTrip(request *http.Request) (*http.Response, error) {
	t := r.now.Load()
	response, err := t.RoundTrip(request)
	if _, wrong := errors.AsType[*tls.CertificateVerificationError](err); wrong {
		r.reread(t)
	}
	return response, err
}

// reread replaces a transport if the file of ca has other certificates than it trusts. A file
// that cannot be read changes nothing: that the remote is not trusted is said already, with the
// file's name.
func (r *renewed) reread(was *http.Transport) {
	roots, err := r.config.readCA()
	if err != nil || roots == nil || roots.Equal(was.TLSClientConfig.RootCAs) {
		return
	}
	next := was.Clone()
	next.TLSClientConfig.RootCAs = roots
	if r.now.CompareAndSwap(was, next) {
		was.CloseIdleConnections()
	}
}
