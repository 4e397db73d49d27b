package container_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/build/container"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/registry"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

const (
	sum   = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	other = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	base  = "arn:aws:gamelift:us-east-1:000000000000:containergroupdefinition/"
)

// yard is a service whose registry is answer.
type yard struct {
	*celltest.Cell
	groups *container.Service
	asked  atomic.Int64
	answer func(image string) (string, error)
	used   map[int]string // fleets by version
}

func in(t *testing.T, f func(*yard)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		y := &yard{Cell: celltest.New(t, celltest.Options{}), used: map[int]string{}}
		y.groups = container.New(y.Store, container.Deps{Events: y.Events, Tags: y.Tags, Resolve: func(_ context.Context, image string) (string, error) {
			y.asked.Add(1)
			return y.answer(image)
		}}, container.Options{Home: celltest.Home, Quotas: container.Quotas{Definitions: 2, Versions: 3}})
		y.groups.SetInUse(func(_ store.Reader, _ string, number int) string { return y.used[number] })
		y.Open()
		y.Start(y.groups.Run)
		f(y)
		y.Close()
	})
}

// group is a sound GAME_SERVER group.
func group() container.Spec {
	return container.Spec{OS: "AMAZON_LINUX_2023", Memory: 1024, VCPU: 1, Game: &container.Container{
		Name: "game", Image: "r.example/arena@" + sum, SDK: "5.2.0", Ports: []container.PortRange{{From: 7000, To: 7010, Protocol: "UDP"}},
	}}
}

func (y *yard) create(name string, spec container.Spec) *container.Version {
	y.Helper()
	v, err := y.groups.Create.Do(y.Ctx, container.CreateInput{Name: name, Spec: spec, Tags: map[string]string{"k": "v"}})
	y.Must(err)
	return v
}

func (y *yard) find(name string, number int) *container.Version {
	y.Helper()
	v, err := y.groups.Find(y.Store.View(), name, number)
	y.Must(err)
	return v
}

func (y *yard) refused(what string, err error, kind fault.Kind, part string) {
	y.Helper()
	if !fault.Is(err, kind) || !strings.Contains(err.Error(), part) {
		y.Errorf("%s: %v; want %s with %q", what, err, kind, part)
	}
}

func (y *yard) numbers(name string) (all []int) {
	y.Helper()
	versions, err := y.groups.Versions(y.Store.View(), name, 0)
	y.Must(err)
	for v := range versions {
		all = append(all, v.Number)
	}
	return all
}

func TestVersion_ByDigestIsReadyAtOnce(t *testing.T) {
	in(t, func(y *yard) {
		v := y.create("arena", group())
		if v.Status != container.Ready || v.Number != 1 || v.Game.Digest != sum || v.Type != container.GameServer {
			t.Errorf("%+v", v)
		}
		if synctest.Wait(); y.asked.Load() != 0 {
			t.Error("a registry was asked")
		}
	})
}

func TestVersion_ReadyWhenResolved(t *testing.T) {
	in(t, func(y *yard) {
		fail := 3
		y.answer = func(string) (string, error) {
			if fail--; fail >= 0 {
				return "", errors.New("registry r.example answered HTTP 503")
			}
			return other, nil
		}
		spec := group()
		spec.Game.Image = "r.example/arena:1"
		spec.Support = []container.Container{{Name: "log", Image: "r.example/log@" + sum}}
		v := y.create("arena", spec)
		if v.Status != container.Copying || v.Game.Digest != "" || v.Support[0].Digest != sum {
			t.Errorf("new: %+v", v)
		}
		synctest.Wait()
		if got := y.find("arena", 0); got.Status != container.Copying || y.asked.Load() != 1 {
			t.Errorf("after one failure: %s, asked %d times", got.Status, y.asked.Load())
		}
		wait.Pass(2*time.Second + 4*time.Second + 8*time.Second)
		synctest.Wait()
		if got := y.find("arena", 0); got.Status != container.Ready || got.Game.Digest != other || y.asked.Load() != 4 || !got.Due.IsZero() {
			t.Errorf("in the end: %+v, asked %d times", got, y.asked.Load())
		}
		if v.Game.Digest != "" {
			t.Error("a row that was handed out has changed")
		}
	})
}

func TestVersion_Failed(t *testing.T) {
	in(t, func(y *yard) {
		spec := group()
		spec.Game.Image = "r.example/arena:1"
		y.answer = func(string) (string, error) {
			return "", &registry.Refused{Reason: "registry r.example answered HTTP 404"}
		}
		y.create("gone", spec)
		synctest.Wait()
		v := y.find("gone", 0)
		if v.Status != container.Failed || y.asked.Load() != 1 {
			t.Errorf("%s after %d questions", v.Status, y.asked.Load())
		}
		for _, part := range []string{"r.example/arena:1", "container game", "HTTP 404", "UpdateContainerGroupDefinition"} {
			if !strings.Contains(v.Reason, part) {
				t.Errorf("the reason %q does not say %q", v.Reason, part)
			}
		}
		y.answer = func(string) (string, error) { return "", errors.New(strings.Repeat("long ", 999)) }
		y.create("away", spec)
		wait.Pass(9 * time.Minute)
		synctest.Wait()
		if got := y.find("away", 0).Status; got != container.Copying {
			t.Errorf("%s before its time", got)
		}
		wait.Pass(2 * time.Minute)
		synctest.Wait()
		if got := y.find("away", 0); got.Status != container.Failed || len(got.Reason) > 1024 {
			t.Errorf("%s, with a reason of %d bytes", got.Status, len(got.Reason))
		}
		asked := y.asked.Load()
		wait.Pass(time.Hour)
		if synctest.Wait(); y.asked.Load() != asked {
			t.Error("registries are asked for FAILED versions")
		}
		image := *spec.Game
		image.Image = "r.example/arena@" + other
		next, err := y.groups.Update.Do(y.Ctx, container.UpdateInput{Name: "gone", Game: &image})
		if err != nil || next.Status != container.Ready || next.Number != 2 {
			t.Errorf("the remedy: %+v, %v", next, err)
		}
	})
}

func TestDefinition_Versions(t *testing.T) {
	in(t, func(y *yard) {
		spec := group()
		spec.Support = []container.Container{{Name: "log", Image: "r.example/log@" + sum}}
		y.create("arena", spec)
		update := func(in container.UpdateInput) (*container.Version, error) { return y.groups.Update.Do(y.Ctx, in) }
		two, err := update(container.UpdateInput{Name: "arena", Memory: new(2048), Support: &[]container.Container{}})
		if err != nil || two.Number != 2 || two.Memory != 2048 || len(two.Support) != 0 || two.VCPU != 1 {
			t.Fatalf("%+v, %v", two, err)
		}
		three, err := update(container.UpdateInput{Name: base + "arena:1", About: new("again")})
		if err != nil || three.Number != 3 || three.Memory != 1024 || len(three.Support) != 1 || three.Description != "again" {
			t.Fatalf("%+v, %v", three, err)
		}
		_, err = update(container.UpdateInput{Name: "arena"})
		y.refused("a fourth version", err, fault.LimitExceeded, "VersionCountToRetain")
		_, err = update(container.UpdateInput{Name: base + "arena:1", Source: 2})
		y.refused("two sources", err, fault.InvalidRequest, "SourceVersionNumber")
		_, err = update(container.UpdateInput{Name: "arena", Source: 9})
		y.refused("an unknown source", err, fault.NotFound, "no version 9")
		if got := y.numbers(base + "arena"); !slices.Equal(got, []int{3, 2, 1}) {
			t.Errorf("versions %v", got)
		}
		for name, want := range map[string]int{"arena": 3, base + "arena": 3, base + "arena:2": 2} {
			if got := y.find(name, 0).Number; got != want {
				t.Errorf("%s is version %d, want %d", name, got, want)
			}
		}
		for _, name := range []string{"other", base + "arena:0", base + "arena:9", base + "arena:99999999999", strings.Replace(base, "us-east-1", "eu-west-1", 1) + "arena"} {
			_, err := y.groups.Find(y.Store.View(), name, 0)
			y.refused(name, err, fault.NotFound, "")
		}
		_, err = y.groups.Create.Do(y.Ctx, container.CreateInput{Name: "arena", Spec: spec})
		y.refused("the same name", err, fault.Conflict, "UpdateContainerGroupDefinition")
		y.create("second", spec)
		_, err = y.groups.Create.Do(y.Ctx, container.CreateInput{Name: "third", Spec: spec})
		y.refused("a third definition", err, fault.LimitExceeded, "quota")
	})
}

func TestDefinition_Delete(t *testing.T) {
	in(t, func(y *yard) {
		y.create("arena", group())
		for range 2 {
			if _, err := y.groups.Update.Do(y.Ctx, container.UpdateInput{Name: "arena"}); err != nil {
				t.Fatal(err)
			}
		}
		del := func(in container.DeleteInput) error { return y.groups.Delete.Do(y.Ctx, in) }
		y.used[1] = "containerfleet-1"
		y.refused("all, of which one is used", del(container.DeleteInput{Name: "arena"}), fault.InvalidRequest, "containerfleet-1")
		y.refused("the used one", del(container.DeleteInput{Name: "arena", Number: 1}), fault.InvalidRequest, "version 1")
		y.refused("one and a count", del(container.DeleteInput{Name: base + "arena:2", Retain: new(1)}), fault.InvalidRequest, "VersionCountToRetain")
		if got := y.numbers("arena"); !slices.Equal(got, []int{3, 2, 1}) {
			t.Errorf("a refused deletion left %v", got)
		}
		delete(y.used, 1)
		if err := del(container.DeleteInput{Name: base + "arena:3"}); err != nil {
			t.Fatal(err)
		}
		if v, err := y.groups.Update.Do(y.Ctx, container.UpdateInput{Name: "arena"}); err != nil || v.Number != 4 {
			t.Errorf("after deleting the newest version: %+v, %v; want number 4", v, err)
		}
		if err := del(container.DeleteInput{Name: "arena", Retain: new(1)}); err != nil || !slices.Equal(y.numbers("arena"), []int{4}) {
			t.Errorf("%v; versions %v are left", err, y.numbers("arena"))
		}
		if got, err := y.Tags.List(container.TaggedARN(base + "arena:4")); err != nil || got["k"] != "v" {
			t.Errorf("tags %v, %v", got, err)
		}
		if err := del(container.DeleteInput{Name: "arena", Number: 4}); err != nil {
			t.Fatal(err)
		}
		y.refused("a deleted definition", del(container.DeleteInput{Name: "arena"}), fault.NotFound, "arena")
		_, err := y.Tags.List(base + "arena")
		y.refused("its tags", err, fault.NotFound, "arena")
		if v := y.create("arena", group()); v.Number != 1 {
			t.Errorf("a new definition begins with version %d", v.Number)
		}
	})
}

// What is looked up for a version that has since been deleted does not reach a new one of
// the same name.
func TestVersion_DeletedMeanwhile(t *testing.T) {
	in(t, func(y *yard) {
		let := make(chan struct{})
		y.answer = func(string) (string, error) { <-let; return other, nil }
		spec := group()
		spec.Game.Image = "r.example/arena:1"
		y.create("arena", spec)
		synctest.Wait()
		if err := y.groups.Delete.Do(y.Ctx, container.DeleteInput{Name: "arena"}); err != nil {
			t.Fatal(err)
		}
		wait.Pass(time.Second)
		y.create("arena", spec)
		let <- struct{}{}
		synctest.Wait()
		if got := y.find("arena", 0); got.Status != container.Copying || got.Game.Digest != "" {
			t.Errorf("%+v", got)
		}
		close(let)
		synctest.Wait()
		if got := y.find("arena", 0); got.Status != container.Ready || got.Game.Digest != other {
			t.Errorf("%+v", got)
		}
	})
}

// Whoever waits for versions is told in the transaction that makes them READY, when the row
// says so: at once for a digest, later for a tag.
func TestOnReady(t *testing.T) {
	in(t, func(y *yard) {
		var told []string
		y.groups.OnReady(func(tx *store.Tx, v *container.Version) {
			row, err := y.groups.Find(tx, v.Name, v.Number)
			if err != nil || row.Status != container.Ready || row.Game.Digest == "" || row.Ports() != 11 {
				y.Errorf("told of version %d of %s, whose row is %+v (%v)", v.Number, v.Name, row, err)
			}
			told = append(told, v.Name)
		})
		y.answer = func(string) (string, error) { return other, nil }
		y.create("digest", group())
		tagged := group()
		tagged.Game.Image = "r.example/arena:1"
		y.create("tag", tagged)
		if synctest.Wait(); !slices.Equal(told, []string{"digest", "tag"}) {
			t.Errorf("told of %v", told)
		}
	})
}
