package archive

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"time"

	"github.com/musterhq/muster/event"
)

// object is one file of the archive while it is being filled: events of one hour, in order.
type object struct {
	after uint64 // the archive has everything up to this number
	first uint64 // number of the first event; 0 if there is none
	last  uint64
	begin time.Time // of the first event
	size  int       // of the JSON, in bytes

	data bytes.Buffer // compressed
	zip  *gzip.Writer
}

func newObject(after uint64) *object {
	o := &object{after: after}
	o.zip = gzip.NewWriter(&o.data)
	return o
}

func (o *object) empty() bool { return o.first == 0 }

// next returns the number after which the object continues.
func (o *object) next() uint64 { return max(o.after, o.last) }

// add appends an event, unless another object has to begin with it: because the event is of
// another hour, because numbers before it are missing, or because the object would have more
// than limit bytes. An object has at least one event.
func (o *object) add(e event.Entry, limit int) (added bool, err error) {
	line, err := json.Marshal(event.Line{Seq: e.Seq, Event: *e.Value})
	if err != nil {
		return false, fmt.Errorf("event %d: %w", e.Seq, err)
	}
	line = append(line, '\n')
	switch {
	case o.empty():
		o.first, o.begin = e.Seq, e.Value.Time.UTC()
	case e.Seq != o.last+1, !e.Value.Time.Truncate(time.Hour).Equal(o.begin.Truncate(time.Hour)), o.size+len(line) > limit:
		return false, nil
	}
	o.last = e.Seq
	o.size += len(line)
	_, err = o.zip.Write(line)
	return true, err
}

// name returns the name of the object within an archive.
func (o *object) name(region string) string {
	return fmt.Sprintf("%s/%s/%016d-%016d.ndjson.gz", region, o.begin.Format("2006/01/02/15"), o.first, o.last)
}

// bytes returns the contents of the object, to which nothing can be added any more.
func (o *object) bytes() ([]byte, error) {
	err := o.zip.Close() // does nothing the second time
	return o.data.Bytes(), err
}
