package main

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"strings"

	"github.com/aws/smithy-go"

	"github.com/musterhq/muster/cli/client"
)

// hint returns what to do about an error of a command, or "" if its text says that or nobody
// knows.
func hint(err error) string {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var lookup *net.DNSError
	switch {
	case errors.As(err, &unknown):
		return "the server's certificate is of an authority that this machine does not trust: name its certificates with --ca FILE; of --tls self-signed that is server-cert.pem in the server's data directory"
	case errors.As(err, &host):
		return "the server's certificate is for other names than the one in the URL: use one of those, or a certificate for this one"
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return "the host in the server's URL does not exist: check --endpoint, MUSTER_ENDPOINT and 'muster context'"
	case errors.Is(err, context.DeadlineExceeded):
		return "the server took too long: check that it is reachable, and that no firewall is in between"
	}
	text := err.Error()
	if elsewhere := os.Getenv("AWS_ENDPOINT_URL"); elsewhere != "" && strings.Contains(text, "no server answers at") && !strings.Contains(text, elsewhere) {
		return "AWS_ENDPOINT_URL is for AWS's tools and not read here: set MUSTER_ENDPOINT=" + elsewhere + " if that is the server"
	}
	for _, known := range []struct{ part, hint string }{
		{"Client sent an HTTP request to an HTTPS server", "the server speaks TLS: begin its URL with https://"},
		{"server gave HTTP response to HTTPS client", "the server speaks plain HTTP: begin its URL with http://"},
		{"first path segment in URL cannot contain colon", "begin the server's URL with https:// or http://"},
		{"unsupported protocol scheme", "begin the server's URL with https:// or http://"},
	} {
		if strings.Contains(text, known.part) {
			return known.hint
		}
	}
	return hintOfRefusal(err)
}

// hintOfRefusal is hint for what a server answered.
func hintOfRefusal(err error) string {
	var code, message string
	var answer *client.Error
	var api smithy.APIError
	switch {
	case errors.As(err, &answer):
		code, message = answer.Code, answer.Message
	case errors.As(err, &api):
		code, message = api.ErrorCode(), api.ErrorMessage()
	default:
		return ""
	}
	switch {
	case strings.Contains(message, "header Authorization: is required"):
		return "this server needs a key: 'muster login URL' keeps one, and --credentials FILE names one"
	case strings.Contains(message, "access key id is not known"):
		return "this server does not have the key that was used, which may be of another server, or of AWS: 'muster context' shows where commands go, 'muster help login' which key they use"
	case strings.Contains(message, "signature does not match"):
		return "the secret is not that of the access key: 'muster login URL' asks for both again"
	case strings.Contains(code, "Expired") || strings.Contains(message, "has expired"):
		return "the key or token has ended: an administrator makes another with 'muster admin keys rotate' or 'create'"
	case code == "UnsupportedRegionException":
		return "name a region that this server has with --region REGION"
	case code == "LimitExceededException":
		return "delete what is not needed any more; docs/limits.md has the limits"
	}
	return ""
}
