package awsquery

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Each client gets the form of error that it can read.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	e := &Elsewhere{Served: []string{"sts"}, Remedy: "unset it."}
	for _, c := range []struct{ service, kind, want string }{
		{"iam", "application/x-www-form-urlencoded; charset=utf-8", "<ErrorResponse><Error><Type>Sender</Type><Code>InvalidAction</Code><Message>the service &#34;iam&#34; is not served here: unset it.</Message></Error>"},
		{"ec2", "application/x-www-form-urlencoded", "<Response><Errors><Error><Type>Sender</Type><Code>InvalidAction</Code>"},
		{"route53", "", "<ErrorResponse>"},
		{"lambda", "", `{"message":"the service \"lambda\" is not served here: unset it."}`},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=KEY/20261127/us-east-1/"+c.service+"/aws4_request, SignedHeaders=host, Signature=0")
		r.Header.Set("Content-Type", c.kind)
		w := httptest.NewRecorder()
		if !e.Match(r) {
			t.Errorf("%s: not recognized", c.service)
		}
		if e.ServeHTTP(w, r); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s; want %s", c.service, w.Code, w.Body, c.want)
		}
	}
	for _, signed := range []string{"", "Bearer x", "AWS4-HMAC-SHA256 Credential=KEY/20261127/us-east-1/sts/aws4_request, Signature=0", "AWS4-HMAC-SHA256 Credential=KEY/iam"} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Authorization", signed)
		if e.Match(r) {
			t.Errorf("%q is recognized", signed)
		}
	}
}
