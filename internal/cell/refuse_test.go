package cell

import (
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

// A refusal uses the protocol of its request: AWS's Go SDK checks for the CBOR header
// before it reads the code that makes it retry.
func TestRefuse_Protocol(t *testing.T) {
	t.Parallel()
	for protocol, decode := range map[string]func([]byte, any) error{"": json.Unmarshal, "rpc-v2-cbor": cbor.Unmarshal} {
		r, w := httptest.NewRequest("POST", "/", nil), httptest.NewRecorder()
		r.Header.Set("Smithy-Protocol", protocol)
		Refuse(w, r)
		var body map[string]string
		if err := decode(w.Body.Bytes(), &body); err != nil || body["__type"] != "InternalServiceException" || body["message"] == "" {
			t.Errorf("%q: %v, %v", protocol, body, err)
		}
		if w.Code != 503 || w.Header().Get("Retry-After") == "" || w.Header().Get("Smithy-Protocol") != protocol {
			t.Errorf("%q: %d, %v", protocol, w.Code, w.Header())
		}
	}
}
