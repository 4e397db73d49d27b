package yamlfile

import "testing"

func TestFind(t *testing.T) {
	t.Parallel()
	const file = `# a comment
Sets:
  block:
    Body: |
      {
        "a": 1
      }
  line: {Body: '{}'}
  folded:
    Body: >
      {}
  same: &same
    Body: "x"
  again: *same
  none: {}
`
	for key, want := range map[string]Span{
		"block":  {Line: 5, Indent: 6, Block: true},
		"line":   {Line: 8},
		"folded": {Line: 10},
		"same":   {Line: 13},
		"again":  {Line: 13},
	} {
		if got, ok := Find([]byte(file), "Sets", key, "Body"); !ok || got != want {
			t.Errorf("%s is at %+v, %v; want %+v", key, got, ok, want)
		}
	}
	for _, keys := range [][]string{{"Sets", "none", "Body"}, {"Sets", "line", "Body", "more"}, {"Sets"}, {"Other"}} {
		if got, ok := Find([]byte(file), keys...); ok {
			t.Errorf("%q is at %+v", keys, got)
		}
	}
}
