package remote

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
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
		return "have ca of the remote name the file with the certificate that it has now, and start this server again; " + selfSigned
	}
	return "have ca of the remote name a file with the certificate of its authority, and start this server again; " + selfSigned
}

const selfSigned = "of a Muster with --tls self-signed that is server-cert.pem in its data directory"
