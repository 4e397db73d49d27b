package live

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/setup"
)

// What a wait is for is told once, and its progress says it each time.
func TestWait_News(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		shown := map[string]bool{}
		s := &Server{
			Tell:    func(text string) { told = append(told, text) },
			Working: func(text func() string) { shown[text()] = true },
		}
		n := 0
		err := s.wait(t.Context(), "fleet live", func(context.Context) (bool, string, error) {
			n++
			status := "DOWNLOADING"
			if n > 2 {
				status = "ACTIVATING"
			}
			return n > 3, fmt.Sprintf("%s (Waiting for a host: an instance takes much; host-1 has %d MiB free)", status, n), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"fleet live: DOWNLOADING (Waiting for a host: an instance takes much; host-1 has 1 MiB free)",
			"fleet live: ACTIVATING (Waiting for a host: an instance takes much; host-1 has 3 MiB free)",
		}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("told: %s", diff)
		}
		progress := map[string]bool{}
		for i, status := range []string{"DOWNLOADING", "DOWNLOADING", "ACTIVATING"} {
			progress[fmt.Sprintf("fleet live, after %ds: %s (Waiting for a host: an instance takes much; host-1 has %d MiB free)", i, status, i+1)] = true
		}
		if diff := cmp.Diff(progress, shown); diff != "" {
			t.Errorf("shown: %s", diff)
		}
	})
}

// Until a fleet is ACTIVE it desires an instance in each location, and where it is to have none,
// no host is missing.
func TestNewest(t *testing.T) {
	at := time.Now()
	event := func(code types.EventCode, message string) types.Event {
		at = at.Add(time.Second)
		return types.Event{EventCode: code, EventTime: aws.Time(at), Message: &message}
	}
	const lab, home = "Waiting for a host in custom-lab to run 1 more of fleet f: why", "Waiting for a host in us-east-1 to run 1 more of fleet f: no host has joined"
	all := []types.Event{
		event(types.EventCodeFleetCreated, "Fleet f is created"), event(types.EventCodeGenericEvent, lab), event(types.EventCodeGenericEvent, home),
		event(types.EventCodeFleetStateDownloading, "Fleet f is DOWNLOADING"),
	}
	s, none := &Server{Region: "us-east-1"}, &setup.Capacity{DesiredInstances: aws.Int32(0)}
	for want, unused := range map[string][]string{
		lab: s.unused(setup.Placement{HomeRegion: none, Locations: map[string]*setup.Capacity{"custom-lab": {DesiredInstances: aws.Int32(2)}}}),
		"":  {"us-east-1", "custom-lab"},
	} {
		if got := newest(all, unused); got != want {
			t.Errorf("without %q the last event is %q, want %q", unused, got, want)
		}
	}
	for _, unused := range [][]string{
		s.unused(setup.Placement{Locations: map[string]*setup.Capacity{"custom-lab": nil}}),
		s.unused(setup.Placement{HomeRegion: none, Locations: map[string]*setup.Capacity{"custom-lab": none}}), // one has to be ACTIVE first, wherever it is
		s.unused(setup.Placement{HomeRegion: none}),
	} {
		if got := newest(all, unused); got != home {
			t.Errorf("without %q the last event is %q, want %q", unused, got, home)
		}
	}
}
