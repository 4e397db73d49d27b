package jail

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/agent/isolate"
)

// A machine separates instances only with every part: without control groups, what a program
// started among a game server's processes would outlive it.
func TestSeparate(t *testing.T) {
	t.Parallel()
	whole := func() *Jailer {
		return &Jailer{users: &Users{1, 2}, apart: true, filter: true, groups: &isolate.Groups{}, egress: true}
	}
	if err := whole().Separate(); err != nil {
		t.Errorf("with all parts: %v", err)
	}
	for text, lacking := range map[string]func(*Jailer){
		"users of their own":     func(j *Jailer) { j.users = nil },
		"processes and folders":  func(j *Jailer) { j.apart = false },
		"fewer system calls":     func(j *Jailer) { j.filter = false },
		"control groups":         func(j *Jailer) { j.groups = nil },
		"restricted destination": func(j *Jailer) { j.egress = false },
	} {
		j := whole()
		lacking(j)
		if err := j.Separate(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("without %s: %v", text, err)
		}
	}
}
