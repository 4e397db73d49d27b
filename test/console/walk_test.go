package console

import (
	"flag"
	"path/filepath"
	"testing"
)

// pictures is the folder for pictures of pages.
var pictures = flag.String("pictures", "", "walk in all widths and both themes, and leave a picture of each page in this `folder`")

// pass is a walk in one theme and width.
type pass struct {
	Scheme string   `json:"scheme"`
	Width  int      `json:"width"`
	Only   []string `json:"only,omitempty"` // names of pages; default all
}

// Every page of a live server is shown without a fault, by day on a desk and by night on a
// phone: no error, no request to another server, nothing wider than the screen, and no
// serious finding of axe.
func TestWalk(t *testing.T) {
	needs(t)
	d := newDemo(t)
	passes := []pass{
		{"light", 1440, nil}, {"dark", 390, nil},
		{"dark", 1024, []string{"now", "queue", "ticket", "fleet", "session"}},
	}
	if *pictures != "" {
		folder, err := filepath.Abs(*pictures)
		if err != nil {
			t.Fatal(err)
		}
		*pictures, passes = folder, nil
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int{1440, 1024, 390} {
				passes = append(passes, pass{scheme, width, nil})
			}
		}
	}
	run(t, "walk.mjs", task{Base: d.server.URL, Passes: passes}, nil)
}
