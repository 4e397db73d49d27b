package yamlfile

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type sample struct {
	Name    string
	Size    *int32
	Ratio   *float64
	On      *bool
	Process []types.ServerProcess
	Kind    types.ProtectionPolicy
	Tags    map[string]string
	Items   map[string]*item
}

type item struct {
	Text *string
	List []string
}

// Each mistake is reported with its line, and what was probably meant.
func TestRead_Mistakes(t *testing.T) {
	t.Parallel()
	const file = `Name: 1.0
Sise: 3
Size: many
On: yes
Process:
  - LaunchPath: /local/game/a
    Parametres: -x
Kind: NoProtections
Items:
  a: {Text: b}
  a: {Text: c}
Tags: none
`
	var s sample
	err := Read("muster.yaml", []byte(file), &s)
	want := []string{
		`muster.yaml:2: unknown key "Sise"; did you mean "Size"?`,
		`muster.yaml:3: Size is "many"; it must be a whole number`,
		`muster.yaml:4: On is "yes"; it must be true or false`,
		`muster.yaml:7: unknown key "Parametres" in Process[0]; did you mean "Parameters"?`,
		`muster.yaml:8: Kind is "NoProtections"; it must be one of NoProtection, FullProtection; did you mean "NoProtection"?`,
		`muster.yaml:11: key "a" in Items is there twice; it is in line 10 too`,
		`muster.yaml:12: Tags must have keys and values, such as "Name: value"`,
	}
	if got := err.Error(); got != strings.Join(want, "\n") {
		t.Errorf("errors:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
	if s.Name != "1.0" {
		t.Errorf("Name is %q, not as written", s.Name)
	}
}

// What is written is read as it was.
func TestWrite_IsRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "true", "1.0", "null", "~", "- a", "a: b", "# c", "{\n \"a\": 1\n}\n", "a\n\n", "0x10", " a", "<<"}))
		word = rapid.Map(word, func(s string) string { return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "") })
		in := sample{
			Name: word.Draw(t, "name"), Size: rapid.Ptr(rapid.Int32(), true).Draw(t, "size"), Ratio: rapid.Ptr(rapid.Float64Range(-1e9, 1e9), true).Draw(t, "ratio"),
			On: rapid.Ptr(rapid.Bool(), true).Draw(t, "on"), Kind: rapid.SampledFrom(types.ProtectionPolicy("").Values()).Draw(t, "kind"),
			Tags: rapid.MapOf(word, word).Draw(t, "tags"), Items: map[string]*item{},
		}
		for _, name := range rapid.SliceOfNDistinct(word, 0, 3, rapid.ID).Draw(t, "items") {
			in.Items[name] = &item{Text: rapid.Ptr(word, true).Draw(t, "text"), List: rapid.SliceOf(word).Draw(t, "list")}
		}
		file, err := Write(&in)
		if err != nil {
			t.Fatal(err)
		}
		var out sample
		if err := Read("file", file, &out); err != nil {
			t.Fatalf("%v\n%s", err, file)
		}
		if diff := cmp.Diff(in, out); diff != "" {
			t.Fatalf("%s\n%s", diff, file)
		}
	})
}

// FuzzRead holds Read to its bounds: it returns, and what it has read can be written.
func FuzzRead(f *testing.F) {
	f.Add("Name: a\nItems: {a: &x {List: [b]}, c: *x}\n")
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		var s sample
		if Read("file", []byte(text), &s) == nil {
			if _, err := Write(&s); err != nil {
				t.Errorf("%q was read, and cannot be written: %v", text, err)
			}
		}
	})
}
