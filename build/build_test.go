package build_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/build"
	"github.com/musterhq/muster/build/object"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/internal/ziptest"
)

func TestBuild_ReadyByItself(t *testing.T) {
	in(t, func(s *shop) {
		b := s.create(build.CreateInput{Name: "arena", Version: "1"})
		if b.Status != build.Initialized || b.SDKVersion != "4.0.2" || b.SizeOnDisk() != 0 {
			t.Errorf("created %+v", b)
		}
		entries, err := s.Events.Read(s.Ctx, event.Query{NewestFirst: true, Limit: 1})
		s.Must(err)
		if text := entries[0].Value.Message; text != "Build "+b.ID+" was created" { // Server SDK 4 needs no remark
			t.Errorf("of a build for Server SDK 4 is told %q", text)
		}
		archive := ziptest.Make(t, map[string]string{"server": "program", "data/level": "map"})
		s.Must(s.upload(b, archive))
		s.settle()
		sum := sha256.Sum256(archive)
		b = s.build(b.ID)
		if b.Status != build.Ready || b.SizeOnDisk() != int64(len(archive)) || b.SHA256 != hex.EncodeToString(sum[:]) ||
			b.Format != "zip" || b.Files != 2 || b.Unpacked != 10 {
			t.Errorf("after the upload: %+v", b)
		}
		if n := len(s.Recorded(event.BuildReady)); n != 1 {
			t.Errorf("%d events say that it is READY, want one", n)
		}
		f, err := s.builds.Open(s.Ctx, b.ID)
		s.Must(err)
		defer f.Close()
		if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, archive) {
			t.Errorf("the archive reads back as %d bytes, %v", len(got), err)
		}
	})
}

func TestBuild_FailedWithReason(t *testing.T) {
	good := ziptest.Make(t, map[string]string{"server": "program"})
	for name, c := range map[string]struct {
		archive []byte
		reason  string
	}{
		"nothing":       {nil, "no bytes"},
		"no archive":    {[]byte("#!/bin/sh\n"), "neither zip"},
		"cut off":       {good[:len(good)-10], "directory"},
		"leads out":     {ziptest.Make(t, map[string]string{"../../etc/cron.d/x": "evil"}), "climbs out"},
		"damaged":       {bytes.Replace(ziptest.Make(t, map[string]string{"server": strings.Repeat("program ", 99)}), []byte("PK\x01\x02"), []byte("PK\x01\x03"), 1), "cannot be read"},
		"without files": {ziptest.Make(t, nil), "empty"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(s *shop) {
				b := s.create(build.CreateInput{})
				s.Must(s.upload(b, c.archive))
				s.settle()
				b = s.build(b.ID)
				if b.Status != build.Failed || !strings.Contains(b.Reason, c.reason) {
					t.Fatalf("%s, %q; want FAILED because of %q", b.Status, b.Reason, c.reason)
				}
				if n := s.contents(); n != 0 {
					t.Errorf("%d files are kept of a failed build", n)
				}
				entries, err := s.Events.Read(s.Ctx, event.Query{NewestFirst: true, Limit: 1})
				if err != nil || entries[0].Value.Code != event.BuildFailed || !strings.Contains(entries[0].Value.Message, c.reason) {
					t.Errorf("the last event is %+v, %v", entries, err)
				}
			})
		})
	}
}

func TestBuild_FailsWhenNothingComes(t *testing.T) {
	in(t, func(s *shop) {
		b := s.create(build.CreateInput{})
		wait.Pass(24*time.Hour - time.Second)
		s.settle()
		if got := s.build(b.ID); got.Status != build.Initialized {
			t.Fatalf("%s before its time", got.Status)
		}
		wait.Pass(2 * time.Second)
		s.settle()
		if got := s.build(b.ID); got.Status != build.Failed || !strings.Contains(got.Reason, "not received") {
			t.Errorf("%s, %q", got.Status, got.Reason)
		}
		s.refused("an upload that comes too late", s.upload(b, ziptest.Make(t, map[string]string{"a": "b"})), fault.AccessDenied)
	})
}

func TestBuild_UploadIsForGood(t *testing.T) {
	in(t, func(s *shop) {
		b := s.create(build.CreateInput{})
		_, err := s.builds.Awaits(s.Store.View(), b.ID)
		s.Must(err)
		s.Must(s.upload(b, ziptest.Make(t, map[string]string{"a": "1"})))
		s.refused("a second upload before the check", s.upload(b, ziptest.Make(t, map[string]string{"a": "2"})), fault.AccessDenied)
		s.settle()
		s.refused("a second upload", s.upload(b, ziptest.Make(t, map[string]string{"a": "3"})), fault.AccessDenied)
		_, err = s.builds.Awaits(s.Store.View(), b.ID)
		s.refused("credentials after the upload", err, fault.InvalidRequest)
		at := s.builds.Place(b)
		s.refused("deleting the object of a build", s.objects.Delete.Do(s.Ctx, object.Name{Bucket: at.Bucket, Key: at.Key}), fault.AccessDenied)
		s.refused("an object that no build awaits", s.put(object.BuildBucket, account+"/build-none", []byte("x")), fault.AccessDenied)
		s.refused("one outside the account", s.put(object.BuildBucket, b.ID, []byte("x")), fault.AccessDenied)
		if n := s.contents(); n != 1 {
			t.Errorf("%d files are kept, want the build's only", n)
		}
	})
}

func TestBuild_FromOwnObject(t *testing.T) {
	in(t, func(s *shop) {
		s.Must(s.objects.Buckets.Create.Do(s.Ctx, "games"))
		s.Must(s.put("games", "arena.zip", ziptest.Make(t, map[string]string{"server": "1"})))
		b := s.create(build.CreateInput{Source: &build.Location{Bucket: "games", Key: "arena.zip", RoleARN: "arn:aws:iam::1:role/x"}})
		s.Must(s.objects.Delete.Do(s.Ctx, object.Name{Bucket: "games", Key: "arena.zip"}))
		s.settle()
		b = s.build(b.ID)
		if b.Status != build.Ready || b.SizeOnDisk() != 0 || b.Size == 0 {
			t.Errorf("%+v; want READY and no size shown", b)
		}
		f, err := s.builds.Open(s.Ctx, b.ID)
		s.Must(err)
		f.Close()
		for _, at := range []build.Location{{Bucket: "games", Key: "none"}, {Bucket: "none", Key: "x"}, s.builds.Place(b)} {
			_, err := s.builds.Create.Do(s.Ctx, build.CreateInput{OS: "AMAZON_LINUX_2023", Source: &at})
			s.refused("a build of "+at.Bucket+"/"+at.Key, err, fault.InvalidRequest)
		}
	})
}

func TestBuild_DeleteKeepsArchiveWhileUsed(t *testing.T) {
	in(t, func(s *shop) {
		b := s.create(build.CreateInput{Tags: map[string]string{"a": "b"}})
		s.Must(s.upload(b, ziptest.Make(t, map[string]string{"a": "1"})))
		s.settle()
		s.used[b.ID] = true
		s.Must(s.builds.Delete.Do(s.Ctx, b.ID))
		s.settle()
		_, err := s.builds.Find(s.Store.View(), b.ID)
		s.refused("a deleted build", err, fault.NotFound)
		s.refused("deleting it again", s.builds.Delete.Do(s.Ctx, b.ID), fault.NotFound)
		for range s.builds.All(s.Store.View(), "") {
			t.Error("a deleted build is listed")
		}
		f, err := s.builds.Open(s.Ctx, b.ID)
		s.Must(err)
		f.Close()
		s.used[b.ID] = false
		s.builds.Nudge()
		s.settle()
		if s.builds.Get(s.Store.View(), b.ID) != nil || s.contents() != 0 {
			t.Errorf("%d files are left when the last fleet is gone", s.contents())
		}
	})
}

func TestBuild_DeletedBeforeItsArchive(t *testing.T) {
	in(t, func(s *shop) {
		b := s.create(build.CreateInput{})
		s.Must(s.builds.Delete.Do(s.Ctx, b.ID))
		s.refused("its upload", s.upload(b, ziptest.Make(t, map[string]string{"a": "1"})), fault.AccessDenied)
		s.settle()
		if n := s.contents(); n != 0 {
			t.Errorf("%d files are left", n)
		}
	})
}

func TestBuild_CreateAndUpdate(t *testing.T) {
	in(t, func(s *shop) {
		_, err := s.builds.Create.Do(s.Ctx, build.CreateInput{})
		s.refused("a build for no operating system", err, fault.InvalidRequest)
		b := s.create(build.CreateInput{Name: "a", Version: "1"})
		name := "b"
		_, err = s.builds.Update.Do(s.Ctx, build.UpdateInput{BuildID: b.ID, Name: &name})
		s.Must(err)
		if got := s.build(b.ID); got.Name != "b" || got.Version != "1" {
			t.Errorf("%+v", got)
		}
	})
}
