package build_test

import (
	"testing"

	"github.com/musterhq/muster/build"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/ziptest"
)

func TestScript(t *testing.T) {
	in(t, func(s *shop) {
		name, version := "lobby", "1"
		first := ziptest.Make(t, map[string]string{"main.js": "1"})
		c, err := s.builds.Scripts.Create(s.Ctx, build.ScriptInput{Name: &name, Version: &version, Zip: first})
		s.Must(err)
		if c.Node != "10.x" || c.SizeOnDisk() != int64(len(first)) || c.Name != name {
			t.Errorf("created %+v", c)
		}
		second := ziptest.Make(t, map[string]string{"main.js": "2", "more.js": "3"})
		c, err = s.builds.Scripts.Update(s.Ctx, build.ScriptInput{ScriptID: c.ID, Zip: second})
		s.Must(err)
		if c.Version != version || c.SizeOnDisk() != int64(len(second)) {
			t.Errorf("updated %+v", c)
		}
		s.settle()
		if n := s.contents(); n != 1 {
			t.Errorf("%d files are kept, want the second edition's only", n)
		}
		at := s.builds.Scripts.Place(c)
		s.refused("an object put beside scripts", s.put(at.Bucket, "x", []byte("y")), fault.AccessDenied)
		s.Must(s.builds.Scripts.Delete.Do(s.Ctx, c.ID))
		s.settle()
		if n := s.contents(); n != 0 {
			t.Errorf("%d files are left", n)
		}
		s.refused("deleting it again", s.builds.Scripts.Delete.Do(s.Ctx, c.ID), fault.NotFound)
	})
}

func TestScript_FromOwnObject(t *testing.T) {
	in(t, func(s *shop) {
		s.Must(s.objects.Buckets.Create.Do(s.Ctx, "games"))
		s.Must(s.put("games", "lobby.zip", ziptest.Make(t, map[string]string{"main.js": "1"})))
		s.Must(s.put("games", "bad.zip", []byte("none")))
		c, err := s.builds.Scripts.Create(s.Ctx, build.ScriptInput{Source: &build.Location{Bucket: "games", Key: "lobby.zip"}})
		s.Must(err)
		if c.SizeOnDisk() != 0 || c.Size == 0 {
			t.Errorf("%+v; want no size shown", c)
		}
		s.Must(s.builds.Scripts.Delete.Do(s.Ctx, c.ID))
		s.settle()
		if s.objects.Get(s.Store.View(), "games", "lobby.zip") == nil || s.contents() != 2 {
			t.Errorf("the caller's own object went with the script: %d files", s.contents())
		}
		_, err = s.builds.Scripts.Create(s.Ctx, build.ScriptInput{Source: &build.Location{Bucket: "games", Key: "bad.zip"}})
		s.refused("a script that is no zip", err, fault.InvalidRequest)
	})
}

func TestScript_Refusals(t *testing.T) {
	in(t, func(s *shop) {
		old := "8.x"
		zip := ziptest.Make(t, map[string]string{"main.js": "1"})
		for what, in := range map[string]build.ScriptInput{
			"nothing":      {},
			"both":         {Zip: zip, Source: &build.Location{Bucket: "a", Key: "b"}},
			"old Node.js":  {Zip: zip, Node: &old},
			"no zip":       {Zip: []byte("x")},
			"no object":    {Source: &build.Location{Bucket: "a", Key: "b"}},
			"path escapes": {Zip: ziptest.Make(t, map[string]string{"../x": "1"})},
		} {
			_, err := s.builds.Scripts.Create(s.Ctx, in)
			s.refused(what, err, fault.InvalidRequest)
		}
		s.settle()
		if n := s.contents(); n != 0 {
			t.Errorf("%d files are left of refused scripts", n)
		}
	})
}
