package clients

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/test/node"
)

// Every story is played in every runtime that it is for.
func TestStories(t *testing.T) {
	node.Path(t)
	file, err := os.Open(top + "/clients/stories/stories.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stories, err := readStories(file)
	if err != nil {
		t.Fatal(err)
	}
	shared := newServer(t, nil)
	for _, r := range runtimes {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.available(t)
			d := r.start(t)
			t.Log(d.runtime)
			for _, s := range stories {
				if len(s.Only) > 0 && !slices.Contains(s.Only, r.name) {
					continue
				}
				t.Run(strings.ReplaceAll(s.Name, " ", "_"), func(t *testing.T) {
					t.Parallel()
					p := player{T: t, driver: d, prefix: fmt.Sprintf("%s/", s.Name)}
					for _, step := range s.Steps {
						if why := d.skips[step.Do+step.Start]; why != "" {
							t.Skipf("%s: %s", step.Do+step.Start, why)
						}
					}
					p.play(&r, shared, &s)
				})
			}
		})
	}
}

// player plays one story.
type player struct {
	*testing.T
	driver *driver
	prefix string // of the names of its clients in the driver
	stage  *stage

	inboxes map[string]*inbox
	pending map[string]*pending
}

// pending is what was started under one name.
type pending struct {
	ids  []int64
	ends []<-chan fromDriver
}

// foreignPage says that the story is about a page of another site.
const foreignPage = "foreign"

func (p *player) play(r *runtimeRow, shared *server, s *story) {
	p.stage = newStage(p.T, shared, s)
	p.inboxes, p.pending = map[string]*inbox{}, map[string]*pending{}
	if s.Needs.Page == foreignPage {
		p.driver = startPage(p.T, r, foreign)
	}
	defer p.leave()
	for i := range s.Steps {
		ctx, cancel := context.WithTimeout(p.Context(), patience)
		err := p.step(ctx, &s.Steps[i])
		cancel()
		if err != nil {
			p.Fatalf("step %d, %s: %v", i+1, &s.Steps[i], err)
		}
	}
	if leaked := p.stage.gate.leaked(); len(leaked) > 0 {
		p.Errorf("URLs have secrets: %q", leaked)
	}
	if early := p.stage.gate.early; len(early) > 0 {
		p.Errorf("requests were made again before Retry-After had passed: %q", early)
	}
	if output := p.driver.output(); slices.ContainsFunc(p.stage.gate.secrets, func(s string) bool { return strings.Contains(output, s) }) {
		p.Error("the driver's output has secrets")
	}
	if output := p.driver.output(); scriptFailed(output) {
		p.Errorf("a script has failed:\n%s", output)
	}
}

// leave closes the clients that are still open.
func (p *player) leave() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.Context()), patience)
	defer cancel()
	for name := range p.inboxes {
		if _, end, err := p.driver.begin(p.prefix+name, "close", nil); err == nil {
			p.driver.wait(ctx, end) // an error if the story closed it
		}
	}
}

func (p *player) step(ctx context.Context, s *step) error {
	filled, err := fill(map[string]any{"with": orEmpty(s.With), "want": s.Want}, p.stage.variables)
	if err != nil {
		return err
	}
	with := filled.(map[string]any)["with"].(map[string]any)
	want := filled.(map[string]any)["want"]
	var wantError any
	if s.Error != nil {
		if wantError, err = fill(s.Error, p.stage.variables); err != nil {
			return err
		}
	}
	switch {
	case s.Do != "":
		id, end, err := p.begin(s.Client, s.Do, with)
		if err != nil {
			return err
		}
		return p.ended(ctx, &pending{[]int64{id}, []<-chan fromDriver{end}}, want, wantError, s.Save)
	case s.Start != "":
		now := &pending{}
		for range max(s.Times, 1) {
			id, end, err := p.begin(s.Client, s.Start, with)
			if err != nil {
				return err
			}
			now.ids, now.ends = append(now.ids, id), append(now.ends, end)
		}
		p.pending[s.As] = now
		return nil
	case s.Wait != "":
		return p.ended(ctx, p.pending[s.Wait], want, wantError, s.Save)
	case s.Cancel != "":
		for _, id := range p.pending[s.Cancel].ids {
			_, end, err := p.driver.begin("", "cancel", map[string]any{"id": id})
			if err != nil {
				return err
			}
			if _, err := p.driver.wait(ctx, end); err != nil {
				return err
			}
		}
		return nil
	case s.Event != "":
		in := p.inboxes[s.Client]
		if in == nil {
			return fmt.Errorf("there is no client %q", s.Client)
		}
		data, err := in.until(ctx, p.driver, s.Event, func(data any) bool { return want == nil || differs(want, data) == "" })
		if err != nil {
			return err
		}
		return p.save(data, s.Save)
	case s.Server != "":
		got, err := p.stage.change(ctx, p.T, s.Server, with)
		return p.compare(got, err, want, s.Save)
	}
	got, err := p.pass(ctx, s.Gate, with)
	return p.compare(got, err, want, s.Save)
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// begin starts a call of a client of this story.
func (p *player) begin(client, do string, with map[string]any) (int64, <-chan fromDriver, error) {
	if do == "open" {
		with["url"] = p.stage.gate.url
		if store, ok := with["store"].(string); ok {
			with["store"] = p.prefix + store
		} else {
			with["store"] = p.prefix + client
		}
		p.inboxes[client] = p.driver.listen(p.prefix + client)
	}
	return p.driver.begin(p.prefix+client, do, with)
}

// ended waits for the end of calls, and compares each.
func (p *player) ended(ctx context.Context, calls *pending, want, wantError any, save map[string]string) error {
	for _, end := range calls.ends {
		m, err := p.driver.wait(ctx, end)
		if err != nil {
			return err
		}
		switch {
		case m.Error != nil && wantError == nil:
			return fmt.Errorf("the error %s", show(m.Error))
		case m.Error == nil && wantError != nil:
			return fmt.Errorf("the result %s, want the error %s", show(m.Result), show(wantError))
		case m.Error != nil:
			if why := differs(wantError, any(m.Error)); why != "" {
				return fmt.Errorf("the error %s: %s", show(m.Error), why)
			}
			err = p.save(m.Error, save)
		default:
			err = p.compare(m.Result, nil, want, save)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *player) compare(got any, err error, want any, save map[string]string) error {
	if err != nil {
		return err
	}
	if want != nil {
		if why := differs(want, got); why != "" {
			return fmt.Errorf("the result %s: %s", show(got), why)
		}
	}
	return p.save(got, save)
}

func (p *player) save(from any, names map[string]string) error {
	for name, pointer := range names {
		where, err := fill(pointer, p.stage.variables)
		if err != nil {
			return err
		}
		value, err := at(from, fmt.Sprint(where))
		if err != nil {
			return err
		}
		p.stage.variables[name] = value
	}
	return nil
}

// pass carries out a step at the gate.
func (p *player) pass(ctx context.Context, what string, with map[string]any) (any, error) {
	g := p.stage.gate
	switch what {
	case "admit":
		g.admit()
		return nil, nil
	case "drop":
		g.drop()
		return nil, nil
	case "breakPush":
		g.breakPush()
		return nil, nil
	case "extend":
		g.mu.Lock()
		defer g.mu.Unlock()
		g.extends = true
		return nil, nil
	case "expire":
		g.expire()
		return nil, nil
	case "steal":
		return g.steal(ctx, p.stage.server.url())
	case "count":
		n, err := g.count(with)
		return map[string]any{"count": float64(n)}, err
	case "await":
		n, err := g.await(ctx, with)
		return map[string]any{"count": float64(n)}, err
	}
	return nil, g.arm(what, with)
}
