package engine

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/client"

	"github.com/musterhq/muster/internal/registry"
)

// Reason is why an image cannot be had.
type Reason string

// The reasons of a PullError.
const (
	ReasonAuth         Reason = "auth"         // the registry demands a login, or other rights
	ReasonName         Reason = "name"         // there is no such image, or no such content
	ReasonArchitecture Reason = "architecture" // it is made for other machines
	ReasonDisk         Reason = "disk"         // it does not fit on this machine
	ReasonUnreachable  Reason = "unreachable"  // the registry, or the engine
	ReasonOther        Reason = "other"
)

// PullError reports that an image cannot be had.
type PullError struct {
	Image  string
	Reason Reason
	Err    error // what the engine said
}

func (e *PullError) Error() string { return fmt.Sprintf("image %s: %v", e.Image, e.Err) }

func (e *PullError) Unwrap() error { return e.Err }

// Final reports whether the same pull would fail again until people change something.
func (e *PullError) Final() bool {
	return e.Reason == ReasonAuth || e.Reason == ReasonName || e.Reason == ReasonArchitecture
}

// pulls are the images that are being pulled.
type pulls struct {
	slots semaphore
	mu    sync.Mutex
	byRef map[string]*pull
	named map[string]time.Time // when an image was last asked for, by its mark

	removing sync.RWMutex // held for reading while images are pulled
}

func (p *pulls) init(atOnce int) {
	p.slots = make(semaphore, atOnce)
	p.byRef, p.named = map[string]*pull{}, map[string]time.Time{}
}

// pull is one pull, for which several may wait.
type pull struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error // set when done is closed

	mu      sync.Mutex
	waiting int
	percent int
	changed chan struct{} // closed and replaced when percent changes
}

// Pull makes sure that the engine has an image for this machine, and pulls it if it has
// not. progress, which may be nil, is called with growing percentages by this goroutine.
// Pulls of the same image are one; it goes on as long as anybody waits for it. An error
// that is not the context's is a *PullError.
func (e *Engine) Pull(ctx context.Context, image string, progress func(percent int)) error {
	p := e.join(image)
	defer e.leave(image, p)
	last := -1
	for {
		p.mu.Lock()
		percent, changed := p.percent, p.changed
		p.mu.Unlock()
		if progress != nil && percent > last {
			last = percent
			progress(percent)
		}
		select {
		case <-p.done:
			if p.err == nil && progress != nil && last < 100 {
				progress(100)
			}
			return p.err
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// join returns the pull of an image, and begins it if there is none.
func (e *Engine) join(image string) *pull {
	e.pulls.mu.Lock()
	defer e.pulls.mu.Unlock()
	e.pulls.named[markOf(image)] = time.Now()
	p := e.pulls.byRef[image]
	if p == nil {
		p = &pull{done: make(chan struct{}), changed: make(chan struct{})}
		var ctx context.Context
		ctx, p.cancel = context.WithCancel(e.ctx)
		e.pulls.byRef[image] = p
		e.done.Go(func() { e.run(ctx, image, p) })
	}
	p.waiting++
	return p
}

func (e *Engine) run(ctx context.Context, image string, p *pull) {
	e.pulls.removing.RLock()
	err := e.pull(ctx, image, p)
	e.pulls.removing.RUnlock()
	e.pulls.mu.Lock()
	if e.pulls.byRef[image] == p {
		delete(e.pulls.byRef, image)
	}
	e.pulls.mu.Unlock()
	p.cancel()
	p.err = err
	close(p.done)
}

// leave ends a pull for which nobody waits any more.
func (e *Engine) leave(image string, p *pull) {
	e.pulls.mu.Lock()
	defer e.pulls.mu.Unlock()
	if p.waiting--; p.waiting == 0 {
		p.cancel()
		if e.pulls.byRef[image] == p {
			delete(e.pulls.byRef, image) // who asks now begins another
		}
	}
}

func (p *pull) report(percent int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if percent > p.percent {
		p.percent = percent
		close(p.changed)
		p.changed = make(chan struct{})
	}
}

func (e *Engine) pull(ctx context.Context, image string, p *pull) error {
	there, err := e.hasImage(ctx, image)
	if there || err != nil {
		return pullError(image, err)
	}
	if err := e.pulls.slots.acquire(ctx); err != nil {
		return err
	}
	defer e.pulls.slots.release()
	ref, err := registry.Parse(image)
	if err != nil {
		return &PullError{image, ReasonName, err}
	}
	auth, err := e.login(ctx, ref.Host)
	if err != nil {
		return &PullError{image, ReasonAuth, err}
	}
	answer, err := e.api.ImagePull(ctx, image, client.ImagePullOptions{RegistryAuth: auth})
	if err != nil {
		return pullError(image, err)
	}
	defer answer.Close()
	var seen layers
	for message, err := range answer.JSONMessages(ctx) {
		if err == nil && message.Error != nil {
			err = message.Error
		}
		if err != nil {
			return pullError(image, err)
		}
		p.report(seen.add(message))
	}
	return e.check(ctx, image)
}

// check checks an image that was pulled.
func (e *Engine) check(ctx context.Context, image string) error {
	there, err := e.hasImage(ctx, image)
	if err == nil && !there {
		err = errors.New("the engine has not got it, and does not say why")
	}
	if err == nil {
		err = e.mark(ctx, image)
	}
	return pullError(image, err)
}

// errArchitecture reports an image for other machines.
var errArchitecture = errors.New("it is made for other machines")

// hasImage reports whether the engine has an image. It fails if that is for other machines.
func (e *Engine) hasImage(ctx context.Context, image string) (bool, error) {
	found, err := e.api.ImageInspect(ctx, image)
	switch {
	case cerrdefs.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, err
	case found.Os != "linux" || found.Architecture != e.arch:
		return false, fmt.Errorf("%w: %s/%s; this one is linux/%s", errArchitecture, found.Os, found.Architecture, e.arch)
	}
	return true, nil
}

// layers are how far the parts of an image are.
type layers struct {
	all     map[string]layer
	percent int
}

type layer struct{ current, total int64 }

// Most layers that are counted; images have at most 127.
const maxLayers = 1000

// add returns how far the whole is, in percent, after a message. It never falls, and is
// less than 100.
func (l *layers) add(m jsonstream.Message) int {
	if l.all == nil {
		l.all = map[string]layer{}
	}
	known, ok := l.all[m.ID]
	switch {
	case m.ID == "" || !ok && len(l.all) >= maxLayers:
		return l.percent
	case m.Status == "Downloading" && m.Progress != nil && m.Progress.Total > 0:
		l.all[m.ID] = layer{min(max(m.Progress.Current, 0), m.Progress.Total), m.Progress.Total}
	case m.Status == "Download complete" || m.Status == "Pull complete":
		l.all[m.ID] = layer{known.total, known.total}
	default:
		return l.percent
	}
	current, total := 0.0, 0.0
	for _, one := range l.all {
		current += float64(one.current)
		total += float64(one.total)
	}
	if total > 0 {
		l.percent = max(l.percent, min(int(current*100/total), 99))
	}
	return l.percent
}

// signs are how engines and registries say why an image cannot be had, in the order in
// which they count.
var signs = []struct {
	reason  Reason
	pattern *regexp.Regexp
}{
	{ReasonDisk, regexp.MustCompile(`(?i)no space left on device|disk quota exceeded`)},
	{ReasonArchitecture, regexp.MustCompile(`(?i)no matching manifest|no image found in (manifest list|image index) for architecture|does not match the (specified|expected) platform`)},
	{ReasonAuth, regexp.MustCompile(`(?i)unauthorized|authentication required|no basic auth credentials|access (to the resource is )?denied|denied: |forbidden|incorrect username or password|invalid username/password`)},
	{ReasonName, regexp.MustCompile(`(?i)manifest unknown|name unknown|repository name not known|not found|name_unknown|manifest_unknown|invalid reference format|no such (image|manifest)`)},
	{ReasonUnreachable, regexp.MustCompile(`(?i)connection refused|no such host|i/o timeout|timeout|handshake|x509|certificate|network is unreachable|no route to host|gave HTTP response|connection reset|\bEOF\b|server misbehaving|too many requests|toomanyrequests|(status|code):? ?(code )?(429|5\d\d)|service unavailable|bad gateway|dial tcp`)},
}

// pullError returns an error with its reason; nil for nil.
func pullError(image string, err error) error {
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, errArchitecture):
		return &PullError{image, ReasonArchitecture, err}
	}
	text := strings.ToValidUTF8(err.Error(), "�")
	for _, s := range signs {
		if s.pattern.MatchString(text) {
			return &PullError{image, s.reason, err}
		}
	}
	if isUnreachable(err) {
		return &PullError{image, ReasonUnreachable, err}
	}
	return &PullError{image, ReasonOther, err}
}
