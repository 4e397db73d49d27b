package main

import (
	"crypto/x509"
	"encoding/pem"
	"testing"

	"github.com/musterhq/muster/test/node"
)

// `muster ca` prints the same certificate each time, needs no credentials, and names an
// endpoint that is not a server's.
func TestAuthority(t *testing.T) {
	t.Parallel()
	a := node.InProcess(t, nil)
	code, first, complaint := typed(t, t.Context(), "ca", "--endpoint", a.URL())
	block, rest := pem.Decode([]byte(first))
	if code != 0 || complaint != "" || block == nil || len(rest) != 0 {
		t.Fatalf("ended with %d: %q, %q", code, first, complaint)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil || !c.IsCA {
		t.Fatalf("the certificate may not sign: %v, %v", c, err)
	}
	if _, again, _ := typed(t, t.Context(), "ca", "--endpoint", a.URL()); again != first {
		t.Errorf("a second time it prints %q", again)
	}
	if code, out, complaint := typed(t, t.Context(), "ca", "--endpoint", "http://127.0.0.1:1"); code == 0 || out != "" || complaint == "" {
		t.Errorf("without a server: %d, %q, %q", code, out, complaint)
	}
}
