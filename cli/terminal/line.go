package terminal

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/musterhq/muster/cli/style"
	"github.com/musterhq/muster/internal/plain"
)

const (
	// quiet is how long work goes on before its progress is shown.
	quiet = time.Second
	// rewritten and written are how often it is shown: on a terminal the line is rewritten,
	// elsewhere there is another one.
	rewritten = 200 * time.Millisecond
	written   = 30 * time.Second
)

// Line shows the progress of work that takes more than a second. It is safe for concurrent
// use.
type Line struct {
	screen     *Screen
	isTerminal bool
	now        func() time.Time

	unlink func() bool // ctx no longer ends the line

	mu   sync.Mutex
	due  time.Time
	over bool
}

// NewLine returns a Line that is shown on screen until End, or until ctx ends.
func NewLine(ctx context.Context, screen *Screen) *Line {
	l := &Line{screen: screen, isTerminal: style.IsTerminal(screen), now: time.Now}
	l.due = l.now().Add(quiet)
	if !l.isTerminal {
		l.due = l.now().Add(written)
	}
	l.unlink = context.AfterFunc(ctx, l.remove)
	return l
}

// Show shows the text that f returns, if it is time.
func (l *Line) Show(f func() string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if l.over || now.Before(l.due) {
		return
	}
	text := plain.Line(f())
	if !l.isTerminal {
		l.due = now.Add(written)
		fmt.Fprintln(l.screen, text)
		return
	}
	l.due = now.Add(rewritten)
	if letters := []rune(text); len(letters) > style.Width(l.screen, 80)-1 {
		text = string(letters[:max(0, style.Width(l.screen, 80)-1)])
	}
	l.screen.show(text)
}

// Print writes a line of text that stays, above the progress.
func (l *Line) Print(text string) { fmt.Fprintln(l.screen, plain.Line(text)) }

// Clock shows for how long some work has been going on, of which nothing else is known, until
// stop is called.
func (l *Line) Clock(what string) (stop func()) {
	begun, over, gone := l.now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(rewritten)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				l.Show(func() string { return fmt.Sprintf("%s: %s", what, l.now().Sub(begun).Round(time.Second)) })
			case <-over:
				return
			}
		}
	}()
	return func() {
		close(over)
		<-gone
	}
}

// End removes the line from a terminal. Nothing is shown from then on.
func (l *Line) End() {
	l.unlink()
	l.remove()
}

// remove is End, which ctx may call before NewLine has returned.
func (l *Line) remove() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isTerminal {
		l.screen.show("")
	}
	l.over = true
}
