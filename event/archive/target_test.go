package archive

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// environment replaces what AWS's tools read on this machine.
func environment(t *testing.T, values map[string]string) {
	t.Helper()
	all := map[string]string{
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true", "AWS_PROFILE": "",
		"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_S3": "", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
	}
	for name := range all {
		t.Setenv(name, all[name])
	}
	for name, value := range values {
		t.Setenv(name, value)
	}
}

func TestOpen_Invalid(t *testing.T) {
	environment(t, nil)
	for at, want := range map[string]string{
		"s3://":            `"" is not the name of a bucket`,
		"s3://Games/x":     `"Games" is not the name of a bucket: 3 to 63`,
		"s3://games/a b":   `prefix "a b": at most 512 of`,
		"s3://games/?x=y":  `prefix "?x=y"`,
		"https://games/x":  "https:// is not s3://; a folder is named without a scheme",
		"s3://games/right": "the region of the bucket is not known: set AWS_REGION",
	} {
		if _, err := Open(t.Context(), at); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", at, err, want)
		}
	}
}

// Requests go where AWS's tools would send them: to paths that begin with the bucket, if an
// endpoint is set. Errors say what to do.
func TestBucket(t *testing.T) {
	code, status, seen := "", http.StatusForbidden, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = fmt.Sprintf("%s %s %s %s", r.Method, r.URL.Path, r.Header.Get("Content-Type"), body)
		if !strings.Contains(r.Header.Get("Authorization"), "Credential=AKIDEXAMPLE/") || !strings.Contains(r.Header.Get("Authorization"), "/eu-central-1/s3/") {
			t.Errorf("signed with %q", r.Header.Get("Authorization"))
		}
		if code != "" {
			w.WriteHeader(status)
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>No.</Message></Error>", code)
		}
	}))
	defer server.Close()
	environment(t, map[string]string{"AWS_ENDPOINT_URL_S3": server.URL, "AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret"})
	to, err := Open(t.Context(), "s3://events/games/")
	if err != nil || to.String() != "s3://events/games" {
		t.Fatalf("%s: %v", to, err)
	}
	if err := to.Put(t.Context(), "us-east-1/2026/a.ndjson.gz", []byte("text")); err != nil || seen != "PUT /events/games/us-east-1/2026/a.ndjson.gz application/gzip text" {
		t.Errorf("%q: %v", seen, err)
	}
	for _, c := range []struct {
		code, want string
		status     int
	}{
		{"NoSuchBucket", "there is no bucket events: create it, or correct --events-archive", 404},
		{"AccessDenied", "allow s3:PutObject on arn:aws:s3:::events/games/*", 403},
		{"InvalidAccessKeyId", "the credentials are not valid: renew them", 403},
		{"SignatureDoesNotMatch", "the credentials are not valid: renew them", 403},
		{"PermanentRedirect", "the bucket is not in the region eu-central-1: set AWS_REGION", 301},
		{"AuthorizationHeaderMalformed", "the bucket is not in the region eu-central-1", 400},
		{"RequestTimeTooSkewed", "the clock of this machine is wrong", 403},
		{"InvalidRequest", "InvalidRequest", 400},
	} {
		code, status = c.code, c.status
		if err := to.Put(t.Context(), "a", nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.code, err, c.want)
		}
	}
	environment(t, map[string]string{"AWS_ENDPOINT_URL_S3": server.URL})
	to, err = Open(t.Context(), "s3://events")
	must(t, err)
	if err := to.Put(t.Context(), "a", nil); !errors.Is(err, errNoCredentials) || !strings.Contains(err.Error(), "there are no credentials: give them") {
		t.Errorf("without credentials: %v", err)
	}
}
