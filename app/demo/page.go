package demo

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// servePage runs the arena program as the game's page for browsers until ctx ends, and prints
// its link. A program that has no page is logged.
func (d *Demo) servePage(ctx context.Context) {
	if !strings.HasPrefix(d.s.URL, "http://") {
		return // a browser that comes from the page does not know the server's certificate
	}
	if err := d.runPage(ctx); err != nil && ctx.Err() == nil {
		d.log.Warn("the demo's page ended", "error", err)
	}
}

func (d *Demo) runPage(ctx context.Context) error {
	log, err := os.Create(filepath.Join(d.s.Dir, "page.log"))
	if err != nil {
		return fmt.Errorf("make the page's log: %w", err)
	}
	defer log.Close()
	page := exec.CommandContext(ctx, d.program, "page", "--until-eof", "--muster", d.s.URL, "--matchmaker", name)
	page.Cancel = func() error { return page.Process.Signal(os.Interrupt) }
	page.WaitDelay = 3 * time.Second
	page.Stderr = log
	hold, err := page.StdinPipe() // ends with this process, even if it is killed
	if err != nil {
		return err
	}
	defer hold.Close()
	out, err := page.StdoutPipe()
	if err != nil {
		return err
	}
	if err := page.Start(); err != nil {
		return err
	}
	line, _ := bufio.NewReader(out).ReadString('\n') // without a line the program has ended
	if link, ok := strings.CutPrefix(strings.TrimSpace(line), "ready "); ok {
		d.say("Play in a browser: %s", link)
	}
	return page.Wait()
}
