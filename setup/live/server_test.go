package live_test

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/setup/live"
)

// A server whose certificate is not trusted is not asked again and again: the one who can change
// that waits for the answer.
func TestPatiently_Untrusted(t *testing.T) {
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	client := gamelift.New(gamelift.Options{BaseEndpoint: &server.URL, Region: "us-east-1", Credentials: aws.AnonymousCredentials{}}, live.Patiently)
	_, err := client.ListFleets(t.Context(), nil)
	if wrong := (*tls.CertificateVerificationError)(nil); !errors.As(err, &wrong) || connections.Load() != 1 {
		t.Errorf("after %d connections: %v", connections.Load(), err)
	}
}
