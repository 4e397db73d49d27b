package object_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/build/object"
	"github.com/musterhq/muster/internal/blob"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/wait"
)

// shelf is the service in virtual time, over files in a folder.
type shelf struct {
	*celltest.Cell
	objects *object.Service
	dir     string
}

// in runs f with a shelf that has the bucket games.
func in(t *testing.T, f func(*shelf)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{Cell: celltest.New(t, celltest.Options{}), dir: dir}
		s.objects = object.New(s.Store, object.Options{Blobs: blob.New(dir), MaxSize: 1000, Reserved: []string{"console"}})
		s.Open()
		s.Start(s.objects.Run)
		s.Must(s.objects.Buckets.Create.Do(s.Ctx, "games"))
		f(s)
		s.Close()
	})
}

func (s *shelf) refused(what string, err error, kind fault.Kind) {
	s.Helper()
	if !fault.Is(err, kind) {
		s.Errorf("%s: %v, want %s", what, err, kind)
	}
}

func (s *shelf) stage(content string) *object.Content {
	s.Helper()
	c, err := s.objects.Stage(strings.NewReader(content), 1000)
	s.Must(err)
	return c
}

func (s *shelf) put(key, content string, expires time.Time) error {
	s.Helper()
	_, err := s.objects.Put(s.Ctx, &object.Object{Bucket: "games", Key: key, Expires: expires}, s.stage(content))
	return err
}

func (s *shelf) get(key string) *object.Object { return s.objects.Get(s.Store.View(), "games", key) }

func (s *shelf) read(key string) string {
	s.Helper()
	f, err := s.objects.Open(s.get(key))
	s.Must(err)
	defer f.Close()
	text, err := io.ReadAll(f)
	s.Must(err)
	return string(text)
}

// files returns the number of files on disk once nothing changes any more.
func (s *shelf) files() int {
	s.Helper()
	synctest.Wait()
	n := 0
	s.Must(filepath.WalkDir(s.dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			n++
		}
		return err
	}))
	return n
}

// A file is removed with the last object that has its content, but not while it is
// read.
func TestObject_FilesGoWithTheLastUse(t *testing.T) {
	in(t, func(s *shelf) {
		s.Must(s.put("a", "same", time.Time{}))
		s.Must(s.put("b", "same", time.Time{}))
		s.Must(s.put("c", "other", time.Time{}))
		if n := s.files(); n != 2 {
			s.Errorf("%d files of two contents", n)
		}
		s.Must(s.objects.Delete.Do(s.Ctx, object.Name{Bucket: "games", Key: "a"}))
		if n := s.files(); n != 2 || s.read("b") != "same" {
			s.Errorf("%d files, and b is %q", n, s.read("b"))
		}
		reader, err := s.objects.Open(s.get("b"))
		s.Must(err)
		s.Must(s.put("b", "new", time.Time{}))
		if n := s.files(); n != 3 {
			s.Errorf("%d files while the old content is read, want 3", n)
		}
		if text, err := io.ReadAll(reader); err != nil || string(text) != "same" {
			s.Errorf("the reader has %q, %v", text, err)
		}
		s.Must(reader.Close())
		if n := s.files(); n != 2 {
			s.Errorf("%d files after the last reader, want 2", n)
		}
	})
}

// Refused requests leave no file.
func TestObject_RefusalsLeaveNothing(t *testing.T) {
	in(t, func(s *shelf) {
		s.refused("an empty key", s.put("", "x", time.Time{}), fault.InvalidRequest)
		s.refused("a long key", s.put(strings.Repeat("k", 1025), "x", time.Time{}), fault.InvalidRequest)
		_, err := s.objects.Put(s.Ctx, &object.Object{Bucket: "none", Key: "k"}, s.stage("x"))
		s.refused("no such bucket", err, fault.NotFound)
		_, err = s.objects.Put(s.Ctx, &object.Object{Bucket: "games", Key: "k", Meta: map[string]string{"m": strings.Repeat("x", 2048)}}, s.stage("x"))
		s.refused("too much metadata", err, fault.InvalidRequest)
		_, err = s.objects.Stage(bytes.NewReader(make([]byte, 1001)), 5000)
		s.refused("more bytes than an object may have", err, fault.InvalidRequest)
		s.refused("a reserved bucket", s.objects.Buckets.Create.Do(s.Ctx, "console"), fault.Conflict)
		s.refused("a bucket of ours", s.objects.Buckets.Delete.Do(s.Ctx, object.BuildBucket), fault.InvalidRequest)
		if n := s.files(); n != 0 {
			s.Errorf("%d files are left", n)
		}
	})
}

// Objects and multipart uploads expire.
func TestObject_Expire(t *testing.T) {
	in(t, func(s *shelf) {
		s.Must(s.put("log", "text", time.Now().Add(time.Hour)))
		u, err := s.objects.Begin.Do(s.Ctx, object.Upload{Bucket: "games", Key: "large"})
		s.Must(err)
		s.Must(s.objects.AddPart(s.Ctx, object.Part{UploadID: u.ID, Number: 1}, s.stage("part")))
		wait.Pass(time.Hour - time.Second)
		if n := s.files(); n != 2 || s.get("log") == nil {
			s.Errorf("%d files before their time", n)
		}
		wait.Pass(2 * time.Second)
		if n := s.files(); n != 1 || s.get("log") != nil {
			s.Errorf("%d files; the object's time is over", n)
		}
		wait.Pass(23 * time.Hour)
		_, err = s.objects.Upload(s.Store.View(), u.ID, "games", "large")
		s.refused("an upload past its end", err, fault.NotFound)
		if n := s.files(); n != 0 {
			s.Errorf("%d files are left", n)
		}
	})
}

// An object is made of the chosen parts; the others are removed.
func TestObject_Parts(t *testing.T) {
	in(t, func(s *shelf) {
		u, err := s.objects.Begin.Do(s.Ctx, object.Upload{Bucket: "games", Key: "large"})
		s.Must(err)
		chosen := map[int]object.Chosen{}
		for number, text := range map[int]string{1: "one", 2: "two", 7: "seven"} {
			c := s.stage(text)
			s.Must(s.objects.AddPart(s.Ctx, object.Part{UploadID: u.ID, Number: number}, c))
			chosen[number] = object.Chosen{Number: number, MD5: c.MD5}
		}
		s.refused("part 0", s.objects.AddPart(s.Ctx, object.Part{UploadID: u.ID}, s.stage("x")), fault.InvalidRequest)
		for what, list := range map[string][]object.Chosen{
			"none": nil, "in the wrong order": {chosen[7], chosen[1]}, "twice the same": {chosen[1], chosen[1]},
			"one that was not sent": {{Number: 3, MD5: chosen[1].MD5}}, "another content": {{Number: 1, MD5: chosen[2].MD5}},
		} {
			_, err := s.objects.Complete.Do(s.Ctx, object.Completion{UploadID: u.ID, Parts: list})
			s.refused(what, err, fault.InvalidRequest)
		}
		o, err := s.objects.Complete.Do(s.Ctx, object.Completion{UploadID: u.ID, Parts: []object.Chosen{chosen[1], chosen[7]}})
		s.Must(err)
		if o.Size != 8 || !strings.HasSuffix(o.ETag, "-2") || o.SHA256() != "" || s.read("large") != "oneseven" {
			s.Errorf("%+v reads %q", o, s.read("large"))
		}
		if n := s.files(); n != 2 {
			s.Errorf("%d files, want those of the two parts", n)
		}
		f, err := s.objects.Open(o)
		s.Must(err)
		defer f.Close()
		for from := range int64(8) {
			for to := from; to <= 8; to++ {
				b := make([]byte, to-from)
				if _, err := f.ReadAt(b, from); err != nil || string(b) != "oneseven"[from:to] {
					s.Fatalf("bytes %d to %d are %q, %v", from, to, b, err)
				}
			}
		}
		s.refused("completing it again", func() error {
			_, err := s.objects.Complete.Do(s.Ctx, object.Completion{UploadID: u.ID, Parts: nil})
			return err
		}(), fault.NotFound)
	})
}

func TestObject_List(t *testing.T) {
	in(t, func(s *shelf) {
		for _, key := range []string{"b/2", "a", "b/1", "c", "b"} {
			s.Must(s.put(key, "x", time.Time{}))
		}
		for _, c := range []struct{ prefix, after, want string }{
			{"", "", "[a b b/1 b/2 c]"}, {"b", "", "[b b/1 b/2]"}, {"b/", "b/1", "[b/2]"}, {"b", "b", "[b/1 b/2]"}, {"d", "", "[]"}, {"", "c", "[]"},
		} {
			var keys []string
			for o := range s.objects.List(s.Store.View(), "games", c.prefix, c.after) {
				keys = append(keys, o.Key)
			}
			if got := fmt.Sprint(keys); got != c.want || !slices.IsSorted(keys) {
				s.Errorf("prefix %q after %q: %s, want %s", c.prefix, c.after, got, c.want)
			}
		}
		s.refused("a bucket with objects", s.objects.Buckets.Delete.Do(s.Ctx, "games"), fault.Conflict)
	})
}
