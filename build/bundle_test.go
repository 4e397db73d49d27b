package build_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/musterhq/muster/build"
	"github.com/musterhq/muster/build/object"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/blob"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/internal/wait"
)

// shop is a cell with builds, in virtual time.
type shop struct {
	*testing.T
	ctx     context.Context
	dir     string
	st      *store.Store
	events  *event.Log
	tags    *tag.Service
	objects *object.Service
	builds  *build.Service
	used    map[string]bool // builds that a fleet uses
	stop    func()
}

const account = "000000000000"

// in runs f in a shop.
func in(t *testing.T, f func(*shop)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, store.NewMemory(), dir)
		defer s.stop()
		f(s)
	})
}

func open(t *testing.T, driver store.Driver, dir string) *shop {
	t.Helper()
	st := store.New(store.Options{Driver: driver})
	s := &shop{T: t, dir: dir, st: st, events: event.New(st, event.Options{}), tags: tag.New(st), used: map[string]bool{}}
	s.objects = object.New(st, object.Options{Blobs: blob.New(dir), MaxSize: 8 << 20})
	s.builds = build.New(st, build.Deps{Events: s.events, Tags: s.tags, Objects: s.objects}, build.Options{Home: arn.Home{Region: "us-east-1", Account: account}})
	s.builds.SetInUse(func(_ store.Reader, id string) bool { return s.used[id] })
	if err := st.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	var cancel context.CancelFunc
	s.ctx, cancel = context.WithCancel(t.Context())
	done := make(chan struct{}, 2)
	go func() { s.objects.Run(s.ctx); done <- struct{}{} }()
	go func() { s.builds.Run(s.ctx); done <- struct{}{} }()
	s.stop = func() {
		cancel()
		<-done
		<-done
		if err := st.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	return s
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
	b, err := s.builds.Create.Do(s.ctx, in)
	if err != nil {
		s.Fatal(err)
	}
	return b
}

func (s *shop) build(id string) *build.Build {
	s.Helper()
	b, err := s.builds.Find(s.st.View(), id)
	if err != nil {
		s.Fatal(err)
	}
	return b
}

// put stores an object as a client would.
func (s *shop) put(bucket, key string, content []byte) error {
	s.Helper()
	c, err := s.objects.Stage(bytes.NewReader(content), 8<<20)
	if err != nil {
		s.Fatal(err)
	}
	_, err = s.objects.Put(s.ctx, &object.Object{Bucket: bucket, Key: key}, c)
	return err
}

// upload uploads a build's archive.
func (s *shop) upload(b *build.Build, content []byte) error {
	s.Helper()
	at := s.builds.Place(b)
	return s.put(at.Bucket, at.Key, content)
}

func (s *shop) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
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

// count returns how many events have a code.
func (s *shop) count(code event.Code) (n int) {
	s.Helper()
	entries, err := s.events.Read(s.ctx, event.Query{Limit: 1000})
	s.must(err)
	for _, e := range entries {
		if e.Value.Code == code {
			n++
		}
	}
	return n
}
