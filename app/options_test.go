package app_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/auth/oidc"
)

func TestNew_RefusesOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*app.Options)
		want   string
	}{
		"listen":                {func(o *app.Options) { o.Listen = "9080" }, "HOST:PORT"},
		"accept any, open":      {func(o *app.Options) { o.Listen = "0.0.0.0:0" }, "loopback"},
		"accept any, all":       {func(o *app.Options) { o.Listen = ":0" }, "loopback"},
		"accept any, name":      {func(o *app.Options) { o.Listen = "example.org:0" }, "loopback"},
		"accept any, IPv6":      {func(o *app.Options) { o.Listen = "[2001:db8::1]:0" }, "loopback"},
		"region":                {func(o *app.Options) { o.Region = "here" }, "region"},
		"account":               {func(o *app.Options) { o.Account = "12" }, "12 digits"},
		"store":                 {func(o *app.Options) { o.Store = "mysql://x" }, "store"},
		"certificate alone":     {func(o *app.Options) { o.TLSCert = "x.pem" }, "both"},
		"plain, open":           {func(o *app.Options) { o.AcceptAny, o.Listen = false, "0.0.0.0:0" }, "--insecure-plain-http"},
		"plain, all":            {func(o *app.Options) { o.AcceptAny, o.Listen = false, ":0" }, "--tls-cert"},
		"plain, name":           {func(o *app.Options) { o.AcceptAny, o.Listen = false, "muster.example:0" }, "--tls self-signed"},
		"retention, events":     {func(o *app.Options) { o.Events.Retention = time.Minute }, "event-retention: at least 1h"},
		"retention, sessions":   {func(o *app.Options) { o.Sessions.Retention = -time.Hour }, "session-retention"},
		"retention, placements": {func(o *app.Options) { o.Placements.Retention = time.Second }, "placement-retention"},
		"retention, tickets":    {func(o *app.Options) { o.Matches.Retention = time.Second }, "ticket-retention"},
		"archive, nowhere":      {func(o *app.Options) { o.EventsArchiveSize = 8 }, "events-archive: it says where"},
		"archive, every":        {func(o *app.Options) { o.EventsArchive, o.EventsArchiveEvery = "x", time.Hour }, "events-archive-every: 1h0m0s is not from 1s to 30m0s"},
		"archive, size":         {func(o *app.Options) { o.EventsArchive, o.EventsArchiveSize = "x", -1 }, "events-archive-size: -1 is not from 1 to 1024 MiB"},
		"archive, scheme":       {func(o *app.Options) { o.EventsArchive = "gs://x" }, "events-archive: gs:// is not s3://"},
		"two certificates":      {func(o *app.Options) { o.TLSCert, o.TLSKey, o.TLSSelfSigned = "c", "k", true }, "one of them"},
		"old TLS":               {func(o *app.Options) { o.TLSMinVersion = "1.1" }, "neither 1.2 nor 1.3"},
		"public URL, path":      {func(o *app.Options) { o.PublicURL = "https://a.example/x" }, "path"},
		"public URL, scheme":    {func(o *app.Options) { o.PublicURL = "ftp://a.example" }, "http"},
		"public URL, long":      {func(o *app.Options) { o.PublicURL = "https://" + strings.Repeat("a", 120) }, "at most"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, c.change)
			o.DataDir = filepath.Join(o.DataDir, "data")
			_, err := app.New(o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want one with %q", err, c.want)
			}
			if _, err := os.Stat(o.DataDir); err == nil {
				t.Error("refused options left a data directory")
			}
		})
	}
}

// What is refused of other programs is named without its secrets.
func TestNew_RefusesPeers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*app.Options)
		want   string
	}{
		"audit sink, scheme":  {func(o *app.Options) { o.AuditSink = "ftp://user:s3cret@host/" }, "audit-sink: ftp://"},
		"audit sink, no host": {func(o *app.Options) { o.AuditSink = "http://" }, "audit-sink: url"},
		"audit sink, file":    {func(o *app.Options) { o.AuditSink, o.AuditSinkSecret = "/var/log/audit", "s3cret" }, "audit-sink-secret"},
		"audit sink, nowhere": {func(o *app.Options) { o.AuditSinkSecret = "s3cret" }, "audit-sink-secret"},
		"audit sink, off":     {func(o *app.Options) { o.AuditSink, o.Audit.Level = "audit.jsonl", audit.Off }, "audit off"},
		"OIDC, no logins":     {func(o *app.Options) { o.OIDC = oidc.Config{Issuer: "https://login.example", ClientID: "muster"} }, "oidc-issuer: nobody logs in"},
		"OIDC, no issuer":     {func(o *app.Options) { o.AcceptAny, o.OIDC.ClientID = false, "muster" }, "oidc-issuer: is missing"},
		"OIDC, no client":     {func(o *app.Options) { o.AcceptAny, o.OIDC.Issuer = false, "https://login.example" }, "oidc-client-id"},
		"OTLP, no URL":        {func(o *app.Options) { o.OTLPEndpoint = "collector:4318" }, "is no http:// or https:// URL, such as http://collector:4318"},
		"OTLP, a password":    {func(o *app.Options) { o.OTLPEndpoint = "http://a:s3cret@collector" }, "OTEL_EXPORTER_OTLP_HEADERS"},
		"OTLP, a query":       {func(o *app.Options) { o.OTLPEndpoint = "http://collector/?team=a" }, "must have no query"},
	} {
		if _, err := app.New(options(t, c.change)); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, want %q and no secret", name, err, c.want)
		}
	}
}

// Any credentials are accepted on loopback; beyond it the server requires TLS, or the explicit
// choice of plain HTTP.
func TestNew_Loopback(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*app.Options){
		"IPv4":                   func(o *app.Options) { o.Listen = "127.1.2.3:0" },
		"name":                   func(o *app.Options) { o.Listen = "localhost:0" },
		"IPv6":                   func(o *app.Options) { o.Listen = "[::1]:0" },
		"beyond it, self-signed": func(o *app.Options) { o.AcceptAny, o.Listen, o.TLSSelfSigned = false, "0.0.0.0:0", true },
		"beyond it, plain":       func(o *app.Options) { o.AcceptAny, o.Listen, o.InsecurePlainHTTP = false, "0.0.0.0:0", true },
	} {
		if _, err := app.New(options(t, change)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An existing directory that other users can read is made private at the start.
func TestNew_TightensTheDataDirectory(t *testing.T) {
	t.Parallel()
	o := options(t, nil)
	check(t, os.Chmod(o.DataDir, 0o775))
	must(app.New(o))(t)
	if info, err := os.Stat(o.DataDir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the mode is %v, %v; want 0700", info.Mode(), err)
	}
}

func TestNew_RefusesAnothersDataDirectory(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory to another user")
	}
	o := options(t, nil)
	check(t, errors.Join(os.Chmod(o.DataDir, 0o770), os.Chown(o.DataDir, 12345, -1)))
	_, err := app.New(o)
	if err == nil || !strings.Contains(err.Error(), "belongs to another user") {
		t.Errorf("a directory that another user owns and a group can read gives %v", err)
	}
	if info, err := os.Stat(o.DataDir); err != nil || info.Mode().Perm() != 0o770 {
		t.Errorf("its mode is %v, %v now", info.Mode(), err)
	}
}
