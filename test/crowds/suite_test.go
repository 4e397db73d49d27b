package main

import (
	"flag"
	"os"
	"testing"
	"time"
)

// TestMain has fewer rule sets drawn than rapid does by itself, unless it is asked for a number:
// each is played for dozens of evenings.
func TestMain(m *testing.M) {
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "rapid.checks" })
	if !asked {
		if err := flag.Set("rapid.checks", "40"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// An evening with roles comes near to what an offline solver matches, and no ticket waits for long
// that could be matched.
func TestSuite(t *testing.T) {
	s := suite{dir: ".", lasts: 60 * time.Second, most: time.Minute, seed: 1}
	all := results{}
	for _, name := range []string{"team-roles", "match-roles-ranked-oldest", "ten-trios-healers", "many-steps-oldest"} {
		for _, rate := range []int{600, 1800} {
			r, err := s.play(name, "one-region", rate)
			if err != nil {
				t.Fatal(err)
			}
			if all[key{name, "one-region", rate}] = r; r.bound == 0 && name == "team-roles" {
				t.Errorf("%s: there is no bound", name)
			}
		}
	}
	for _, v := range all.broken() {
		t.Error(v.text)
	}
}
