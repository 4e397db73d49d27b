package main

import (
	"testing"
	"time"
)

// An evening with roles comes near to what an offline solver matches, and no ticket waits for long
// that could be matched.
func TestSuite(t *testing.T) {
	s := suite{dir: ".", lasts: 60 * time.Second, most: time.Minute, seed: 1}
	all := results{}
	for _, name := range []string{"team-roles", "match-roles-ranked-oldest"} {
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
