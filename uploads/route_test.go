package uploads

import (
	"net/http/httptest"
	"testing"

	"github.com/musterhq/muster/auth"
)

// The audit log names what was asked for, and nothing that is served if it is not.
func TestRoute_Audited(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, target string
		audited        auth.Action
		served         bool
	}{
		{"PUT", "/games/a.zip", auth.PutObject, true},
		{"PUT", "/games/a.zip?uploadId=x&partNumber=1", auth.UploadPart, true},
		{"GET", "/games/a.zip", auth.GetObject, true},
		{"GET", "/games/a.zip?acl", auth.NoFileAction, false},
		{"PUT", "/games/a.zip?tagging", auth.NoFileAction, false},
		{"POST", "/games?delete", auth.NoFileAction, false},
		{"POST", "/games", auth.NoFileAction, false},
		{"PATCH", "/games/a.zip", auth.NoFileAction, false},
		{"DELETE", "/", auth.NoFileAction, false},
	} {
		r := &request{Request: httptest.NewRequest(c.method, c.target, nil)}
		r.query = r.URL.Query()
		r.bucket, r.key = split(r.URL.Path)
		op, err := route(r)
		if op.audited != c.audited || (err == nil) != c.served || c.served != (op.serve != nil) {
			t.Errorf("%s %s is audited as %q, served: %v (%v)", c.method, c.target, op.audited, op.serve != nil, err)
		}
	}
}
