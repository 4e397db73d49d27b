package cluster_test

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"

	"github.com/musterhq/muster/agent/link/linktest"
	"github.com/musterhq/muster/hosts/protocol"
)

// muster is the server of a cluster's agent.
type muster struct {
	*linktest.Muster
	early string // id of a process that was reported before it began
}

func play(t testing.TB) *muster {
	t.Helper()
	m := &muster{Muster: linktest.New(t)}
	m.Patience = patience
	m.Heard = func(in protocol.Message) {
		if in.Status == nil {
			return
		}
		for _, i := range in.Status.Instances {
			for _, g := range i.Groups {
				if g.ProcessID != "" && g.Started.IsZero() {
					m.early = g.ProcessID
				}
			}
		}
	}
	return m
}

// run waits until groups of an instance run.
func (m *muster) run(instance string, groups ...string) {
	m.Helper()
	m.Until(fmt.Sprintf("the groups %q of %s run", groups, instance), func() bool {
		return !slices.ContainsFunc(groups, func(name string) bool {
			g := m.group(instance, name)
			return g == nil || g.Phase != protocol.GroupRunning
		})
	})
}

// group returns a group in the last status, or nil. The caller must hold Mu.
func (m *muster) group(instance, group string) *protocol.GroupStatus {
	all := m.Instance(instance).Groups
	at := slices.IndexFunc(all, func(g protocol.GroupStatus) bool { return g.Name == group })
	if at < 0 {
		return nil
	}
	return &all[at]
}

func quiet(testing.TB) *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
