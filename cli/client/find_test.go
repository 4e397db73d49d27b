package client

import (
	"strings"
	"testing"
)

// TestPick: what stands for a fleet, and what is said if nothing does or several do.
func TestPick(t *testing.T) {
	t.Parallel()
	all := []Fleet{
		{ID: "fleet-01a20f59-c2bf-7000-b70d-8d4bc3520b11", Name: "live"},
		{ID: "fleet-01a20f60-aaaa-7000-b70d-000000000022", Name: "beta"},
		{ID: "fleet-01a20f61-aaaa-7000-b70d-000000000033", Name: "beta"},
	}
	for text, want := range map[string]string{
		"live": "0b11", all[1].ID: "0022", "arn:aws:gamelift:us-east-1::fleet/" + all[2].ID: "0033", "fleet-01a20f59": "0b11", "01a20f60": "0022", "0033": "0033",
	} {
		got, err := pick("fleet", "muster fleets", text, all, func(f Fleet) string { return f.ID }, func(f Fleet) string { return f.Name })
		if err != nil || !strings.HasSuffix(got.ID, want) {
			t.Errorf("%s stands for %q (%v), want %q", text, got.ID, err, want)
		}
	}
	for text, want := range map[string]string{
		"beta": "several fleets: fleet-01a20f60", "fleet-01a20f6": "several fleets", "lvie": `did you mean "live"?); 'muster fleets' lists them`, "33": "there is no fleet",
	} {
		if _, err := pick("fleet", "muster fleets", text, all, func(f Fleet) string { return f.ID }, func(f Fleet) string { return f.Name }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Computes of container fleets have a number after the instance, which may fit several.
func TestPick_Computes(t *testing.T) {
	t.Parallel()
	all := []string{"i-0123456789abcdef0/0", "i-0123456789abcdef0/1", "i-ffff456789abcdef0/0"}
	itself := func(name string) string { return name }
	for text, want := range map[string]string{all[1]: all[1], "i-ffff": all[2], "ffff": all[2], "def0/1": all[1]} {
		if got, err := pick("compute", "list", text, all, itself, itself); err != nil || got != want {
			t.Errorf("%s stands for %q (%v), want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"i-0123": `"i-0123" stands for several computes: ` + all[0] + ", " + all[1] + "; name one by its id", "i-": "there is no compute", "zzzz": "there is no compute",
	} {
		if _, err := pick("compute", "list", text, all, itself, itself); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := pick("process", "list", "aaaa", []string{"aaaa1", "aaaa2"}, itself, itself); err == nil || !strings.Contains(err.Error(), "several processes: aaaa1, aaaa2") {
		t.Error(err)
	}
}
