package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/kubernetes/pod"
)

func chance() float64 { return mathrand.Float64() }

// sighted returns the pods of a group as the watch shows them.
func (c *Cluster) sighted(k key) []sighting {
	list, err := c.pods.GetIndexer().ByIndex(byGroup, k.instance+"/"+k.group)
	if err != nil {
		return nil // there is such an index
	}
	pods := make([]sighting, 0, len(list))
	for _, at := range list {
		pods = append(pods, c.read(at.(*corev1.Pod)))
	}
	return pods
}

func (c *Cluster) read(p *corev1.Pod) sighting {
	on := p.Spec.NodeName
	s := sighting{name: p.Name, uid: p.UID, busy: p.Labels[pod.LabelBusy] == "true", State: pod.Read(p, c.nodes.get(on), c.nodes.isGone(on))}
	s.lost = s.End != nil && pod.IsLost(p, c.nodes.get(on), c.nodes.isGone(on))
	return s
}

// look does for a group what is to be done now, and returns when to look again.
func (c *Cluster) look(ctx context.Context, k key) (again time.Time, err error) {
	c.mu.Lock()
	assigned := c.assigned
	c.mu.Unlock()
	if !assigned {
		return again, nil // Assign has everything looked at
	}
	if k.group == "" {
		return again, c.lookAtSecret(ctx, k.instance)
	}
	if err := c.checkNodes(ctx, k); err != nil {
		return again, err
	}
	pods := c.sighted(k)
	c.mu.Lock()
	g := c.groups[k]
	if g == nil {
		if len(pods) == 0 {
			c.mu.Unlock()
			return again, nil
		}
		g = &group{name: k.group}
		c.groups[k] = g
	}
	w := c.besideGames(k, g.want)
	s, m := decide(w, g.memory, pods, time.Now(), chance())
	g.memory = m
	wasGone := g.gone
	g.gone = s.gone
	over := s.gone && w == nil && len(pods) == 0
	if over {
		delete(c.groups, k)
	}
	if s.gone && !wasGone && w != nil {
		c.lookBeside(k.instance, w.desired)
	}
	c.mu.Unlock()
	if over {
		c.queue.Add(key{instance: k.instance}) // its Secret may be of no more use
	}
	if over || s.gone != wasGone {
		c.link.Changed()
	}
	return s.look, errors.Join(c.do(ctx, k, g, w, s), c.endAsked(ctx, pods))
}

// besideGames returns what is desired of a group now: a per-instance group of an instance that
// is drained runs until the game servers there are gone. The caller must hold mu.
func (c *Cluster) besideGames(k key, w *wanted) *wanted {
	if w == nil || !w.group.PerInstance || w.desired.Stop != protocol.Drain {
		return w
	}
	now := *w
	now.stop, now.stopBy = protocol.End, time.Time{}
	for _, g := range w.desired.Groups {
		if !g.PerInstance && !c.groups[key{k.instance, pod.Label(g.Name)}].gone {
			now.stop = protocol.Keep
		}
	}
	return &now
}

// lookBeside queues the per-instance groups of an instance.
func (c *Cluster) lookBeside(instance string, d *protocol.Desired) {
	for _, g := range d.Groups {
		if g.PerInstance {
			c.queue.Add(key{instance, pod.Label(g.Name)})
		}
	}
}

// checkNodes makes certain whether the nodes exist that pods of a group are on.
func (c *Cluster) checkNodes(ctx context.Context, k key) error {
	list, err := c.pods.GetIndexer().ByIndex(byGroup, k.instance+"/"+k.group)
	for _, at := range list {
		err = errors.Join(err, c.nodes.check(ctx, at.(*corev1.Pod).Spec.NodeName))
	}
	return err
}

// do takes a step.
func (c *Cluster) do(ctx context.Context, k key, g *group, w *wanted, s step) error {
	var all error
	api := c.api.Pods(c.opts.Pods.Namespace)
	for _, p := range s.ended {
		c.report(p.State)
		if c.reports.isAcked(p.ProcessID) {
			if _, err := api.Patch(ctx, p.name, types.MergePatchType, pod.ReportedPatch(), metav1.PatchOptions{}); !apierrors.IsNotFound(err) {
				all = errors.Join(all, err)
			}
		}
	}
	for _, r := range s.remove {
		all = errors.Join(all, c.remove(ctx, r))
	}
	for _, r := range s.mark {
		if _, err := api.Patch(ctx, r.name, types.MergePatchType, pod.BusyPatch(w.group.Busy), metav1.PatchOptions{}); !apierrors.IsNotFound(err) {
			all = errors.Join(all, err)
		}
	}
	if s.unseen {
		all = errors.Join(all, c.findUnseen(ctx, k, g))
	}
	if s.run > 0 {
		all = errors.Join(all, c.begin(ctx, k, g, w, s))
	}
	return all
}

// remove deletes a pod, unless another one has its name by now. Why it is ended is noted
// in it before, for this agent and the next.
func (c *Cluster) remove(ctx context.Context, r removal) error {
	if r.why != "" {
		_, err := c.api.Pods(c.opts.Pods.Namespace).Patch(ctx, r.name, types.MergePatchType, pod.ReasonPatch(r.why, r.uid), metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("note why pod %s is ended: %w", r.name, err)
		}
	}
	grace := int64((r.grace + time.Second - 1) / time.Second)
	err := c.api.Pods(c.opts.Pods.Namespace).Delete(ctx, r.name, metav1.DeleteOptions{GracePeriodSeconds: &grace, Preconditions: &metav1.Preconditions{UID: &r.uid}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// begin creates the pod of a run. It may exist already: another agent, or this one without
// learning of it, has created it, and the watch will show it.
func (c *Cluster) begin(ctx context.Context, k key, g *group, w *wanted, s step) error {
	run := pod.Run{Desired: w.desired, Group: w.group, Number: s.run, Crashes: s.crashes}
	if !w.group.PerInstance {
		run.ProcessID = "p-" + strings.ToLower(rand.Text())
	}
	p, err := pod.New(&c.opts.Pods, run)
	if err != nil {
		c.problem(g, s.run, err.Error())
		return nil // another definition will do better
	}
	if err := c.tokens.ensure(ctx, w.desired); err != nil {
		return err
	}
	_, err = c.api.Pods(c.opts.Pods.Namespace).Create(ctx, p, metav1.CreateOptions{})
	switch {
	case err == nil || apierrors.IsAlreadyExists(err):
		c.mu.Lock()
		g.memory.last, g.code, g.cause, g.tries = max(g.memory.last, s.run), "", "", 0
		g.memory.created = time.Now()
		c.mu.Unlock()
		c.queue.Add(k) // the watch may have shown it already
		return nil
	case apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		c.problem(g, s.run, "the cluster refuses the pod: "+err.Error())
		c.queue.AddAfter(k, c.patience(g))
		return nil
	}
	return fmt.Errorf("create pod %s: %w", p.Name, err)
}

// problem notes why a pod cannot be created.
func (c *Cluster) problem(g *group, run int, cause string) {
	c.log.Warn("a container group cannot be a pod", "group", g.name, "run", run, "cause", cause)
	c.mu.Lock()
	g.code, g.cause = pod.CodeStart, cause
	g.tries++
	c.mu.Unlock()
	c.link.Changed()
}

// patience returns how long to wait before a refused pod is tried again.
func (c *Cluster) patience(g *group) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	wait := min(time.Second<<min(g.tries, 10), 5*time.Minute)
	g.memory.next = time.Now().Add(wait)
	return wait
}

// findUnseen asks for the pod that was created last, which the watch does not show.
func (c *Cluster) findUnseen(ctx context.Context, k key, g *group) error {
	c.mu.Lock()
	last := g.memory.last
	c.mu.Unlock()
	_, err := c.api.Pods(c.opts.Pods.Namespace).Get(ctx, pod.Name(k.instance, k.group, last), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	c.mu.Lock()
	if g.memory.created = time.Now(); apierrors.IsNotFound(err) {
		g.memory.created = time.Time{} // it came and went
	}
	c.mu.Unlock()
	c.queue.Add(k)
	return nil
}

// lookAtSecret writes the Secret of an instance, or deletes it after the last of its pods.
func (c *Cluster) lookAtSecret(ctx context.Context, instanceID string) error {
	c.mu.Lock()
	i := c.instances[instanceID]
	inUse := false
	for k := range c.groups {
		inUse = inUse || k.instance == instanceID
	}
	c.mu.Unlock()
	switch {
	case i != nil:
		return c.tokens.ensure(ctx, i.desired)
	case !inUse:
		return c.tokens.remove(ctx, instanceID)
	}
	return nil
}

// report has the end of a game server sent to Muster.
func (c *Cluster) report(s pod.State) {
	e := protocol.Exited{
		InstanceID: s.InstanceID, FleetID: s.FleetID, Group: s.Group, ProcessID: s.ProcessID, Known: s.End.Known, Code: s.End.Code, Signal: s.End.Signal,
		OOM: s.End.OOM, Reason: s.End.Reason, Cause: s.End.Cause, Tail: s.End.Tail, Lived: s.End.Lived,
	}
	if c.reports.add(e) {
		c.log.Info("game server ended", "instance", s.InstanceID, "group", s.Group, "process_id", s.ProcessID, "cause", s.End.Cause)
		c.link.Exited()
	}
}
