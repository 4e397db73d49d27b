package guides

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/chromium"
	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

// pageAddress is what the guide says to open.
var pageAddress = regexp.MustCompile(`http://127\.0\.0\.1:8000(/examples/[^\s>]+/)`)

// halves guesses by halves in the page's form, and keeps the promise of how that ends.
const halves = `globalThis.played = (async () => {
  const soon = () => new Promise(resolve => setTimeout(resolve, 10));
  const form = document.querySelector("form"), lines = document.getElementsByTagName("li");
  while (form.hidden) await soon();
  for (let low = 1, high = 100; ; ) {
    const guess = low + high >> 1, before = lines.length;
    document.querySelector("input").value = guess;
    form.requestSubmit();
    while (lines.length === before) await soon();
    const text = lines[before].textContent;
    if (text === guess + ": higher") low = guess + 1;
    else if (text === guess + ": lower") high = guess - 1;
    else return document.querySelector("#news").textContent;
  }
})(); true`

// Two browsers open the page that the guide says, and play until one has won.
func TestTenMinutes_Browser(t *testing.T) {
	t.Parallel()
	needs(t, "python3 chromium")
	text, err := os.ReadFile(filepath.Join(document.Top(t), others))
	if err != nil {
		t.Fatal(err)
	}
	page := pageAddress.FindStringSubmatch(string(text))
	p := parts(t)[pageSection]
	if p == nil || p.server == "" || p.pages == "" || page == nil {
		t.Fatalf("%s does not say how to play in a browser", others)
	}
	d := newDesk(t)
	d.server(p.server)
	address := d.serve(p.pages)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tabs := make([]*chromium.Tab, 2)
	for i := range tabs {
		tabs[i] = chromium.Open(t, ctx, address+page[1]+"?muster="+d.muster, "412,600")
		tabs[i].Await(halves, new(bool))
	}
	news := make([]string, len(tabs))
	for i, tab := range tabs {
		tab.Await("played", &news[i])
		tab.Screenshot("ten-minutes.png")
	}
	if all := strings.Join(news, ", "); strings.Count(all, "you won") != 1 || strings.Count(all, "you lost, it was ") != 1 {
		t.Errorf("the pages say: %s", all)
	}
}

// serve types a block that serves pages on port 8000, on another port, and returns the address
// once it answers.
func (d *desk) serve(text string) string {
	d.Helper()
	port := node.ReservePort(d)
	cmd := d.shell(strings.Replace(text, " 8000 ", " "+port+" ", 1))
	if err := cmd.Start(); err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); cmd.Wait() })
	address := "http://127.0.0.1:" + port
	wait.For(d, "the pages are served", func() error { // by another process, which says nothing when it listens
		answer, err := http.Get(address)
		if err == nil {
			answer.Body.Close()
		}
		return err
	})
	return address
}
