package autoscaling

import (
	"strconv"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/fleetiq"
	"github.com/musterhq/muster/internal/awsquery"
	"github.com/musterhq/muster/internal/fault"
)

// The actions of the Amazon GameLift API that a caller must be allowed.
const (
	read auth.Action = "DescribeGameServerGroup"
	list auth.Action = "ListGameServerGroups"
)

// Sizes of a page (API reference, DescribeAutoScalingGroups).
const (
	defaultPage = 50
	largestPage = 100
)

// groups serves DescribeAutoScalingGroups. As in AWS, names of groups that do not exist are
// left out.
func (d *Door) groups(q *awsquery.Request) (any, error) {
	names := q.Members("AutoScalingGroupNames")
	if len(q.Members("Filters")) > 0 || q.Form.Has("Filters.member.1.Name") {
		return nil, fault.Invalid("Filters: not served; give AutoScalingGroupNames")
	}
	if len(names) == 0 {
		return d.allGroups(q)
	}
	if len(names) > largestPage {
		return nil, fault.Invalid("AutoScalingGroupNames: has %d names; at most %d are possible", len(names), largestPage)
	}
	caller, err := d.allowed(q, names...)
	if err != nil {
		return nil, err
	}
	var out groupsResult
	for _, name := range names {
		if g := d.find(name); g != nil {
			out.Groups.Members = append(out.Groups.Members, d.group(g, caller))
		}
	}
	return out, nil
}

// allGroups returns a page of all groups. NextToken is the name of the last one before it.
func (d *Door) allGroups(q *awsquery.Request) (any, error) {
	caller, err := d.opts.Allow(q.Request, q.Body, list)
	if err != nil {
		return nil, err
	}
	n := defaultPage
	if text := q.Form.Get("MaxRecords"); text != "" {
		if n, err = strconv.Atoi(text); err != nil || n < 1 || n > largestPage {
			return nil, fault.Invalid("MaxRecords: must be from 1 to %d", largestPage)
		}
	}
	var out groupsResult
	last := ""
	for g := range d.opts.Groups.Groups.After(d.opts.Store.View(), q.Form.Get("NextToken")) {
		if len(out.Groups.Members) == n {
			out.NextToken = last
			break
		}
		out.Groups.Members = append(out.Groups.Members, d.group(g, caller))
		last = g.Name
	}
	return out, nil
}

// policies serves DescribePolicies: a group has the policy that CreateGameServerGroup was
// given, with the name of the game server group as in AWS.
func (d *Door) policies(q *awsquery.Request) (any, error) {
	name := q.Form.Get("AutoScalingGroupName")
	if name == "" {
		return nil, fault.Invalid("AutoScalingGroupName: is required")
	}
	if _, err := d.allowed(q, name); err != nil {
		return nil, err
	}
	var out policiesResult
	g := d.find(name)
	if g == nil || g.Machines.Policy == nil || !q.AsksFor("PolicyNames", g.Name) || !q.AsksFor("PolicyTypes", targetTracking) {
		return out, nil
	}
	p := policy{
		Group: name, Name: g.Name, Type: targetTracking, Enabled: true, Warmup: int(g.Machines.Policy.Warmup.Seconds()),
		ARN: d.opts.Groups.Groups.ScalingPolicyARN(g),
	}
	p.Target.Value = g.Machines.Policy.Target
	p.Target.Metric = metric{Name: "PercentUtilizedGameServers", Namespace: "AWS/GameLift", Statistic: "Average"}
	out.Policies.Members = []policy{p}
	return out, nil
}

// allowed checks that the caller may read the game server groups behind names.
func (d *Door) allowed(q *awsquery.Request, names ...string) (auth.Caller, error) {
	resources := make([]string, len(names))
	for i, name := range names {
		group, ok := fleetiq.OfAutoScalingGroup(name)
		if !ok {
			group = name // names nothing, and is in no scope that names groups
		}
		resources[i] = d.opts.Groups.Groups.ARN(group)
	}
	return d.opts.Allow(q.Request, q.Body, read, resources...)
}

// find returns the game server group behind the name of an Auto Scaling group, or nil.
func (d *Door) find(name string) *fleetiq.Group {
	group, ok := fleetiq.OfAutoScalingGroup(name)
	if !ok {
		return nil
	}
	return d.opts.Groups.Groups.Get(d.opts.Store.View(), group)
}
