package matchdata_test

import (
	"testing"

	"github.com/musterhq/muster/sdk/session/matchdata"
)

const example = `{"matchId":"m-1","matchmakingConfigurationArn":"arn:aws:gamelift:us-west-2:123456789012:matchmakingconfiguration/mm",` +
	`"teams":[{"name":"red","players":[{"playerId":"p1","attributes":{"skill":{"attributeType":"DOUBLE","valueAttribute":23.0},` +
	`"modes":{"attributeType":"STRING_LIST","valueAttribute":["ctf"]},"s":{"attributeType":"STRING","valueAttribute":"x"},` +
	`"m":{"attributeType":"STRING_DOUBLE_MAP","valueAttribute":{"a":1.0}}}}]},{"name":"blue","players":[{"playerId":"p2"}]}],` +
	`"autoBackfillMode":"MANUAL","autoBackfillTicketId":null}`

func TestParse(t *testing.T) {
	t.Parallel()
	d, err := matchdata.Parse(example)
	if err != nil {
		t.Fatal(err)
	}
	p, ok := d.Player("p1")
	if !ok || p.Team != "red" || p.Attributes["skill"].Value() != 23.0 || len(p.Attributes) != 4 || len(d.Players()) != 2 {
		t.Errorf("got %+v", d)
	}
	again, err := matchdata.Parse(d.String())
	if err != nil || again.String() != d.String() || len(d.String()) < 200 {
		t.Errorf("reading what was written: got %s, %v, want %s", again, err, d)
	}
}

func TestParse_WithoutMatch(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{}"} {
		if d, err := matchdata.Parse(text); err != nil || d.String() != "" {
			t.Errorf("%q: got %s, %v", text, d, err)
		}
	}
	for _, text := range []string{"x", `{"teams":[{"players":[{"attributes":{"a":{"attributeType":"N","valueAttribute":"x"}}}]}]}`} {
		if _, err := matchdata.Parse(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(example)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := matchdata.Parse(text)
		if err != nil {
			return
		}
		again, err := matchdata.Parse(d.String())
		if err != nil || again.String() != d.String() {
			t.Errorf("%q: wrote %q, read %q, %v", text, d, again, err)
		}
	})
}
