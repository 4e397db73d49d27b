package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var top = filepath.Join("..", "..", "..")

// The committed file of each language is what the descriptions give.
func TestEmitters_FilesAreUpToDate(t *testing.T) {
	t.Parallel()
	m, err := readFolder(filepath.Join(top, "backend"))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range m.forClients() {
		if o.Doc == "" || o.Access == byOperator || strings.Count(o.Path, "{") != len(o.InPath) {
			t.Errorf("%s %s: %q, access %s, %d members of the path", o.Method, o.Path, o.Doc, o.Access, len(o.InPath))
		}
	}
	for _, e := range emitters {
		t.Run(e.Lang, func(t *testing.T) {
			t.Parallel()
			want, err := e.Emit(m)
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(e.File)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(got), string(want)); diff != "" {
				t.Errorf("run go generate ./backend (-there +described):\n%s", diff)
			}
		})
	}
}

func TestReadModel_Refuses(t *testing.T) {
	t.Parallel()
	const push = "components: {messages: {}}"
	for _, c := range []struct{ requests, push, want string }{
		{"components: {schemas: {A: {properties: {b: {type: tuple}}}}}", push, "A: b: type"},
		{"components: {schemas: {A: {properties: {b: {type: array}}}}}", push, "A: b: type"},
		{"components: {schemas: {A: {properties: {b: {$ref: '#/components/schemas/B'}}}}}", push, "there is no #/components/schemas/B"},
		{"components: [", push, "OpenAPI: "},
		{"paths: {/a: {get: {operationId: a, responses: {}}}}", push, "/a: get: an operationId"},
		{"paths: {/a: {get: {operationId: a, parameters: [{name: c, in: cookie}], responses: {'200': {}}}}}", push, "c: a parameter in"},
		{"paths: {}", "components: {messages: {m: {payload: {properties: {data: {type: tuple}}}}}}", "AsyncAPI: m: type"},
	} {
		if m, err := readModel([]byte(c.requests), []byte(c.push)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: %v, %v; want an error with %q", c.requests, c.push, m, err, c.want)
		}
	}
}
