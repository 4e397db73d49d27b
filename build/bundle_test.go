package build_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/musterhq/muster/build"
	"github.com/musterhq/muster/build/object"
	"github.com/musterhq/muster/internal/blob"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

// shop is a cell with builds, in virtual time.
type shop struct {
	*celltest.Cell
	dir     string
	objects *object.Service
	builds  *build.Service
	used    map[string]bool // builds that a fleet uses
}

const account = "000000000000"

// in runs f in a shop.
func in(t *testing.T, f func(*shop)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := &shop{Cell: celltest.New(t, celltest.Options{}), dir: dir, used: map[string]bool{}}
		s.objects = object.New(s.Store, object.Options{Blobs: blob.New(dir), MaxSize: 8 << 20})
		s.builds = build.New(s.Store, build.Deps{Events: s.Events, Tags: s.Tags, Objects: s.objects}, build.Options{Home: celltest.Home})
		s.builds.SetInUse(func(_ store.Reader, id string) bool { return s.used[id] })
		s.Open()
		s.Start(s.objects.Run, s.builds.Run)
		defer s.Close()
		f(s)
	})
}

// settle waits until nothing changes any more.
func (s *shop) settle() {
	synctest.Wait()
	wait.Pass(0)
	synctest.Wait()
}

func (s *shop) create(in build.CreateInput) *build.Build {
	s.Helper()
	if in.OS == "" {
		in.OS = "AMAZON_LINUX_2023"
	}
	b, err := s.builds.Create.Do(s.Ctx, in)
	s.Must(err)
	return b
}

func (s *shop) build(id string) *build.Build {
	s.Helper()
	b, err := s.builds.Find(s.Store.View(), id)
	s.Must(err)
	return b
}

// put stores an object as a client would.
func (s *shop) put(bucket, key string, content []byte) error {
	s.Helper()
	c, err := s.objects.Stage(bytes.NewReader(content), 8<<20)
	s.Must(err)
	_, err = s.objects.Put(s.Ctx, &object.Object{Bucket: bucket, Key: key}, c)
	return err
}

// upload uploads a build's archive.
func (s *shop) upload(b *build.Build, content []byte) error {
	s.Helper()
	at := s.builds.Place(b)
	return s.put(at.Bucket, at.Key, content)
}

func (s *shop) refused(what string, err error, kind fault.Kind) {
	s.Helper()
	if !fault.Is(err, kind) {
		s.Errorf("%s: %v, want %s", what, err, kind)
	}
}

// contents returns the number of stored files.
func (s *shop) contents() int {
	s.Helper()
	n := 0
	filepath.WalkDir(s.dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			n++
		}
		return err
	})
	return n
}
