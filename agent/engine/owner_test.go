package engine

import "testing"

func TestProcessIn(t *testing.T) {
	games := map[string]string{"aaaa": "one", "bbbb": "two"}
	for groups, want := range map[string]string{
		"0::/docker/aaaa\n":                                     "one",
		"0::/system.slice/docker-bbbb.scope\n":                  "two",
		"0::/machine.slice/libpod-bbbb.scope/container\n":       "two",
		"12:pids:/docker/aaaa\n1:name=systemd:/docker/aaaa\n":   "one",
		"0::/../aaaa\n":                                         "one",
		"0::/docker/aaaa/bbbb\n":                                "one", // a group that the container has made
		"0::/docker/aaaabbbb\n":                                 "",
		"0::/docker/cccc\n":                                     "",
		"0::/user.slice/user-1000.slice/session-2.scope/aaab\n": "",
		"": "",
	} {
		if got := processIn(groups, games); got != want {
			t.Errorf("%q is in the container of %q, want %q", groups, got, want)
		}
	}
}
