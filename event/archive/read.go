package archive

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/event"
)

// Source is where an archive is read.
type Source interface {
	// Regions returns the first parts of the names of objects, in order.
	Regions(ctx context.Context) ([]string, error)
	// List returns the names of the objects of a region, in order, but for those that come
	// before REGION/from. It holds a part of them at a time. It ends with an error.
	List(ctx context.Context, region, from string) iter.Seq2[string, error]
	// Get opens an object.
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	// At returns where an object is, as its user would write it.
	At(name string) string
}

// Selection says which events of an archive are read.
type Selection struct {
	Region   string    // "" for the only one
	After    uint64    // only events with higher numbers
	Last     uint64    // of those, only so many from the archive's end; 0: all
	From, To time.Time // only events with From <= time < To; zero is open
	event.Filter
}

// longestLine is how many bytes of JSON an event has at most.
const longestLine = 16 << 20

// Read calls f with the events that q selects, oldest first, and with their lines, which are
// valid during the call. It holds one line at a time. It returns f's error, or that of an
// object that cannot be read, which says where that object is and which line is damaged.
func Read(ctx context.Context, s Source, q Selection, f func(line []byte, e *event.Line) error) error {
	region, err := q.region(ctx, s)
	if err != nil {
		return err
	}
	if q.Last > 0 {
		end, err := lastOf(ctx, s, region)
		if err != nil {
			return err
		}
		q.After = max(q.After, end-min(q.Last, end))
	}
	for p, err := range parts(ctx, s, region, q.From, q.To) {
		if err != nil {
			return err
		}
		if p.last <= q.After {
			continue
		}
		if err := p.read(ctx, s, func(line []byte, e *event.Line) error {
			if e.Seq <= q.After || e.Time.Before(q.From) || !q.To.IsZero() && !e.Time.Before(q.To) || !q.Has(&e.Event) {
				return nil
			}
			return f(line, e)
		}); err != nil {
			return err
		}
	}
	return nil
}

// region returns the region that is read.
func (q *Selection) region(ctx context.Context, s Source) (string, error) {
	all, err := s.Regions(ctx)
	if err != nil {
		return "", err
	}
	all = slices.DeleteFunc(all, year.MatchString) // a region's own folder
	has := strings.Join(all, ", ")
	switch {
	case len(all) == 0:
		return "", fmt.Errorf("%s has no archive of events: name what --events-archive of the server names, in which there is a folder for each region", s.At(""))
	case q.Region != "" && !slices.Contains(all, q.Region):
		return "", fmt.Errorf("the archive %s has no region %s, but %s", s.At(""), q.Region, has)
	case q.Region == "" && len(all) > 1:
		return "", fmt.Errorf("the archive %s has several regions, each with numbers of its own; choose one with --region: %s", s.At(""), has)
	}
	return cmp.Or(q.Region, all[0]), nil
}

// lastOf returns the number of the last event of a region.
func lastOf(ctx context.Context, s Source, region string) (end uint64, err error) {
	for p, err := range parts(ctx, s, region, time.Time{}, time.Time{}) {
		if err != nil {
			return 0, err
		}
		end = max(end, p.last)
	}
	return end, nil
}

// part is an object of an archive, by its name.
type part struct {
	name        string
	hour        string // 2006/01/02/15
	first, last uint64
}

// year matches what is in the folder of a region.
var year = regexp.MustCompile(`^\d+$`)

const hourForm = "2006/01/02/15"

// objectName matches names of objects, which may have been unpacked.
var objectName = regexp.MustCompile(`^[^/]+/(\d{4}/\d\d/\d\d/\d\d)/(\d{16,20})-(\d{16,20})\.ndjson(?:\.gz)?$`)

// parts returns the objects of a region whose hours a time range touches. Files with other
// names are none of the archive's.
func parts(ctx context.Context, s Source, region string, from, to time.Time) iter.Seq2[part, error] {
	begin, end := "", ""
	if !from.IsZero() {
		begin = from.UTC().Format(hourForm)
	}
	if !to.IsZero() {
		end = to.UTC().Format(hourForm)
	}
	return func(yield func(part, error) bool) {
		var before part
		for name, err := range s.List(ctx, region, begin) {
			if err != nil {
				yield(part{}, fmt.Errorf("list %s: %w", s.At(region), err))
				return
			}
			m := objectName.FindStringSubmatch(name)
			if m == nil || m[1] < begin {
				continue
			}
			if end != "" && m[1] > end {
				return
			}
			p := part{name: name, hour: m[1]}
			p.first, _ = strconv.ParseUint(m[2], 10, 64) // 0 fits no event
			p.last, _ = strconv.ParseUint(m[3], 10, 64)
			if p.hour == before.hour && p.first == before.first && p.last == before.last {
				continue // the same object, packed and unpacked
			}
			before = p
			if !yield(p, nil) {
				return
			}
		}
	}
}

// read calls f with all events of an object. It checks that they are those that the name says.
func (p *part) read(ctx context.Context, s Source, f func(line []byte, e *event.Line) error) error {
	body, err := s.Get(ctx, p.name)
	if err != nil {
		return fmt.Errorf("read %s: %w", s.At(p.name), err)
	}
	defer body.Close()
	text, err := unpacked(body)
	if err != nil {
		return p.damaged(s, 1, err)
	}
	lines := bufio.NewScanner(text)
	lines.Buffer(make([]byte, 0, 64<<10), longestLine)
	n, next := 1, p.first
	for ; lines.Scan(); n++ {
		var e event.Line
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return p.damaged(s, n, fmt.Errorf("no event: %w", err))
		}
		switch {
		case next > p.last:
			return p.damaged(s, n, errors.New("by its name the object ends with the line before"))
		case e.Seq != next:
			return p.damaged(s, n, fmt.Errorf("it has event %d, and should have %d", e.Seq, next))
		}
		next++
		if err := f(lines.Bytes(), &e); err != nil {
			return err
		}
	}
	switch err := lines.Err(); {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, bufio.ErrTooLong):
		return p.damaged(s, n, fmt.Errorf("the line has more than %d MiB", longestLine>>20))
	case err != nil:
		return p.damaged(s, n, err)
	case next != p.last+1:
		return p.damaged(s, n, fmt.Errorf("the object ends before event %d", next))
	}
	return nil
}

// damaged returns the error of a line that cannot be read.
func (p *part) damaged(s Source, line int, err error) error {
	return fmt.Errorf("%s: line %d: %w; --after %d goes on behind this object", s.At(p.name), line, err, p.last)
}

// unpacked returns the text of an object, which need not be packed.
func unpacked(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	if magic, _ := b.Peek(2); !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return b, nil
	}
	return gzip.NewReader(b)
}
