package main

import (
	"strings"
	"testing"
)

func TestStated(t *testing.T) {
	sum := strings.Repeat("0f", 32)
	s, err := stated(strings.NewReader(sum+"  a.tar.gz\n"+sum+"  b c.zip\n"), "v0.1.0", "abc", "https://builder.example")
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Subject) != 2 || s.Subject[1].Name != "b c.zip" || s.Subject[1].Digest["sha256"] != sum {
		t.Errorf("the subjects are %v", s.Subject)
	}
	if from := s.Predicate.BuildDefinition.ResolvedDependencies[0]; from.URI != "git+"+repository+"@v0.1.0" || from.Digest["gitCommit"] != "abc" {
		t.Errorf("it is built from %v", from)
	}
	for _, bad := range []string{"", sum + " one space\n", sum[2:] + "  short\n", strings.Replace(sum, "0", "g", 1) + "  no-hex\n", sum + "  \n"} {
		if _, err := stated(strings.NewReader(bad), "v0.1.0", "abc", "https://builder.example"); err == nil {
			t.Errorf("%q is taken for checksums", bad)
		}
	}
}
