package aws

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// post sends a request as AWS JSON 1.1, unsigned.
func post(t *testing.T, url, operation, body string) (status int, answer string) {
	t.Helper()
	request := must(http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body)))(t)
	request.Header.Set("Content-Type", "application/x-amz-json-1.1")
	request.Header.Set("X-Amz-Target", "GameLift."+operation)
	response := must(http.DefaultClient.Do(request))(t)
	defer response.Body.Close()
	return response.StatusCode, string(must(io.ReadAll(response.Body))(t))
}
