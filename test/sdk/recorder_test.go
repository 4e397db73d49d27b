package sdk_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	awsgamelift "github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/fxamacker/cbor/v2"

	musterapi "github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/shape"
)

// recorder is an HTTP client that records its requests.
type recorder struct {
	mu       sync.Mutex
	requests []recorded
}

// recorded is a request: its operation and the members decoded from CBOR.
type recorded struct {
	operation string
	members   map[string]any
}

// Do implements the SDK's HTTP client.
func (r *recorder) Do(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	var members map[string]any
	if err := cbor.Unmarshal(body, &members); err != nil {
		return nil, fmt.Errorf("%s: %w", request.URL, err)
	}
	r.mu.Lock()
	r.requests = append(r.requests, recorded{path.Base(request.URL.Path), members})
	r.mu.Unlock()
	return http.DefaultClient.Do(request)
}

// use makes an SDK client send its requests with the recorder.
func (r *recorder) use(o *awsgamelift.Options) { o.HTTPClient = r }

// check checks every request against the description of the API.
func (r *recorder) check(t *testing.T) {
	t.Helper()
	api := musterapi.API()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, request := range r.requests {
		at := slices.IndexFunc(api.Operations, func(o shape.Operation) bool { return o.Name == request.operation })
		if at < 0 {
			t.Errorf("%s is not an operation of the API", request.operation)
			continue
		}
		checkMembers(t, &api, request.operation, api.Operations[at].Input, request.members)
	}
}

func checkMembers(t *testing.T, api *shape.API, where string, members []shape.Member, got map[string]any) {
	t.Helper()
	for name, value := range got {
		at := slices.IndexFunc(members, func(m shape.Member) bool { return m.Name == name })
		if at < 0 {
			t.Errorf("%s has no member %s", where, name)
			continue
		}
		checkValue(t, api, where+"."+name, members[at].Type, value)
	}
	for _, m := range members {
		if _, ok := got[m.Name]; m.Required && !ok {
			t.Errorf("%s: the required member %s is missing", where, m.Name)
		}
	}
}

func checkValue(t *testing.T, api *shape.API, where string, typ shape.Type, value any) {
	t.Helper()
	switch typ.Kind {
	case shape.Struct:
		members := map[string]any{}
		for name, v := range value.(map[any]any) {
			members[name.(string)] = v
		}
		checkMembers(t, api, where, api.Structures[typ.Ref], members)
	case shape.List:
		for i, v := range value.([]any) {
			checkValue(t, api, fmt.Sprintf("%s[%d]", where, i), *typ.Elem, v)
		}
	case shape.String:
		if text, ok := value.(string); !ok || len(typ.Enum) > 0 && !slices.Contains(typ.Enum, text) {
			t.Errorf("%s: %v is not one of %s", where, value, strings.Join(typ.Enum, ", "))
		}
	}
}

// sent returns, by operation, the members sent in any request.
func (r *recorder) sent() map[string][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := map[string]map[string]bool{}
	for _, request := range r.requests {
		if names[request.operation] == nil {
			names[request.operation] = map[string]bool{}
		}
		for name := range request.members {
			names[request.operation][name] = true
		}
	}
	sent := map[string][]string{}
	for operation, members := range names {
		sent[operation] = slices.Sorted(maps.Keys(members))
	}
	return sent
}
