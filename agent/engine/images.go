package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/image"
	"github.com/moby/moby/client"
)

// Images that were pulled here have a tag of their own besides their name, a mark, so that
// those that operators and others have brought are never removed.

// marks is the repository of the owner's marks.
func (o Owner) marks() string {
	sum := sha256.Sum256([]byte(o.Cell + "\x00" + o.HostID))
	return "localhost/muster-pulled-" + hex.EncodeToString(sum[:8])
}

// markOf returns the tag that marks an image.
func markOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16])
}

// mark marks an image that was pulled.
func (e *Engine) mark(ctx context.Context, name string) error {
	_, err := e.api.ImageTag(ctx, client.ImageTagOptions{Source: name, Target: e.machine.opts.Owner.marks() + ":" + markOf(name)})
	return err
}

// Collect removes the images that were pulled for this owner, that no container uses and
// that nobody asked for (Pull) for a while; an agent that has just started counts from
// then. It returns how many it removed. An image with another name stays.
func (e *Engine) Collect(ctx context.Context, unused time.Duration) (int, error) {
	repository := e.machine.opts.Owner.marks()
	list, err := e.api.ImageList(ctx, client.ImageListOptions{Filters: client.Filters{}.Add("reference", repository)})
	if err != nil {
		return 0, err
	}
	containers, err := e.api.ContainerList(ctx, client.ContainerListOptions{All: true})
	if err != nil {
		return 0, err
	}
	used := map[string]bool{}
	for _, c := range containers.Items {
		used[strings.TrimPrefix(c.ImageID, "sha256:")] = true
	}
	removed := 0
	var problems []error
	for _, i := range list.Items {
		if used[strings.TrimPrefix(i.ID, "sha256:")] {
			continue
		}
		gone, err := e.collect(ctx, i, repository, unused)
		if gone {
			removed++
		}
		problems = append(problems, err)
	}
	return removed, errors.Join(problems...)
}

// collect removes an image if all its marks are old enough.
func (e *Engine) collect(ctx context.Context, i image.Summary, repository string, unused time.Duration) (bool, error) {
	// While an image is pulled, none is removed: the next time is soon enough.
	if !e.pulls.removing.TryLock() {
		return false, nil
	}
	defer e.pulls.removing.Unlock()
	marks := slices.DeleteFunc(slices.Clone(i.RepoTags), func(tag string) bool { return !strings.HasPrefix(tag, repository+":") })
	for _, tag := range marks {
		if !e.pulls.isOld(strings.TrimPrefix(tag, repository+":"), unused) {
			return false, nil
		}
	}
	for _, tag := range marks {
		if err := e.unname(ctx, tag); err != nil {
			return false, err
		}
	}
	left, err := e.api.ImageInspect(ctx, i.ID)
	switch {
	case cerrdefs.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, err
	case len(left.RepoTags) > 0:
		return false, nil // others gave it a name
	}
	for _, name := range left.RepoDigests {
		if err := e.unname(ctx, name); err != nil {
			return false, err
		}
	}
	return true, e.unname(ctx, i.ID)
}

// unname removes a name of an image, and with its last one the image.
func (e *Engine) unname(ctx context.Context, name string) error {
	_, err := e.api.ImageRemove(ctx, name, client.ImageRemoveOptions{PruneChildren: true})
	if cerrdefs.IsNotFound(err) {
		return nil
	}
	return err
}

// isOld reports whether nobody asked for an image for a while. One that nobody has asked for
// since Open counts from the first time that isOld is called for it.
func (p *pulls) isOld(mark string, unused time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked, known := p.named[mark]
	if !known {
		asked = time.Now()
		p.named[mark] = asked
	}
	return time.Since(asked) >= unused
}
