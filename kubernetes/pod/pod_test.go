package pod

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/hosts/protocol"
)

func options() *Options {
	return &Options{ReadOnlyRoot: true, Capabilities: []string{"SYS_PTRACE"}, Agent: "muster", Namespace: "games", NodeSelector: map[string]string{"pool": "games"}, LostAfter: time.Minute}
}

// full is a group with everything that a definition may have.
func full() *protocol.Group {
	return &protocol.Group{
		Name: "3", Compute: "i-1/3", Definition: "arn:group:2", MemoryMiB: 1024, CPUMillis: 1500, AuthToken: "hidden",
		Containers: []protocol.Container{
			{
				Name: "Game", Game: true, Essential: true, Image: "game@sha256:1", Capabilities: []string{"SYS_PTRACE"},
				Environment: []protocol.Variable{{Name: "MODE", Value: "$(HOME)$$x"}, {Name: "GAMELIFT_SDK_PROCESS_ID", Value: "forged"}},
				DependsOn:   []protocol.Dependency{{Container: "cache", Condition: "HEALTHY"}, {Container: "maps", Condition: "SUCCESS"}},
				Ports:       []protocol.Port{{Container: 7777, Host: 20003, Protocol: "UDP"}, {Container: 80, Host: 20004, Protocol: "TCP"}},
			},
			{Name: "maps", Image: "maps@sha256:2", DependsOn: []protocol.Dependency{{Container: "proxy", Condition: "START"}}},
			{Name: "cache", Image: "cache@sha256:3", Essential: true, MemoryMiB: 128, CPUMillis: 250, Health: &protocol.ContainerHealth{
				Command: []string{"CMD-SHELL", "kill -0 $$"}, Interval: 10 * time.Second, Timeout: 2 * time.Second, StartPeriod: time.Minute, Retries: 4,
			}},
			{Name: "proxy", Image: "proxy@sha256:4"},
			{Name: "stats", Image: "stats@sha256:5", Mounts: []protocol.Mount{{Instance: "/var/games/stats", Container: "/stats"}}},
		},
	}
}

func run(g *protocol.Group) Run {
	d := &protocol.Desired{InstanceID: "i-1", FleetID: "containerfleet-1", Region: "eu-west-1", SDKURL: "wss://muster.example", Groups: []protocol.Group{*g}}
	return Run{Desired: d, Group: g, Number: 7, ProcessID: "p-1", Crashes: 2}
}

func names(list []corev1.Container) (all []string) {
	for _, c := range list {
		all = append(all, c.Name)
	}
	return all
}

func TestNew(t *testing.T) {
	t.Parallel()
	o := options()
	o.HostPaths = []string{"/var/games/"}
	p, err := New(o, run(full()))
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "i-1-3-7" || p.Namespace != "games" || p.Labels[LabelProcess] != "p-1" || p.Labels[LabelAgent] != "muster" {
		t.Errorf("the pod is %s/%s with %v", p.Namespace, p.Name, p.Labels)
	}
	game := name("Game")
	if got := names(p.Spec.Containers); !slices.Equal(got, []string{game, "stats"}) {
		t.Errorf("beside each other run %v", got)
	}
	if got := names(p.Spec.InitContainers); !slices.Equal(got, []string{"cache", "proxy", "maps"}) {
		t.Errorf("before them start %v", got)
	}
	cache, proxy, maps := p.Spec.InitContainers[0], p.Spec.InitContainers[1], p.Spec.InitContainers[2]
	always := func(c corev1.Container) bool {
		return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
	}
	if !always(cache) || !always(proxy) || always(maps) {
		t.Error("the sidecars are not cache and proxy")
	}
	if s := cache.StartupProbe; s == nil || s.FailureThreshold != 10 || s.PeriodSeconds != 10 || !slices.Equal(s.Exec.Command, []string{"/bin/sh", "-c", "kill -0 $$$$"}) {
		t.Errorf("cache starts with %+v", s)
	}
	if l := cache.LivenessProbe; l == nil || l.InitialDelaySeconds != 60 || l.FailureThreshold != 4 || l.TimeoutSeconds != 2 {
		t.Errorf("cache lives with %+v", l)
	}
	if r := p.Spec.Resources; r == nil || r.Limits.Memory().Value() != 1<<30 || r.Limits.Cpu().MilliValue() != 1500 {
		t.Errorf("the pod may use %+v", r)
	}
	isConfined(t, p)
	env := map[string]string{}
	for _, v := range p.Spec.Containers[0].Env {
		env[v.Name] = v.Value
	}
	if env["MODE"] != "$$(HOME)$$$$x" || env["GAMELIFT_SDK_PROCESS_ID"] != "p-1" || env["GAMELIFT_SDK_HOST_ID"] != "i-1/3" || env["GAMELIFT_COMPUTE_TYPE"] != "CONTAINER" {
		t.Errorf("the environment is %v", env)
	}
	if text, _ := json.Marshal(p); strings.Contains(string(text), "hidden") {
		t.Error("the token is in the pod")
	}
	if ports := p.Spec.Containers[0].Ports; len(ports) != 2 || ports[0].HostPort != 20003 || ports[0].ContainerPort != 7777 || ports[0].Protocol != corev1.ProtocolUDP {
		t.Errorf("the ports are %v", ports)
	}
	if got := Read(p, nil, false); got.Run != 7 || got.Crashes != 2 || got.InstanceID != "i-1" || got.Group != "3" || got.Definition != "arn:group:2" || got.End != nil {
		t.Errorf("it is read as %+v", got)
	}
}

// isConfined checks what no container may have.
func isConfined(t *testing.T, p *corev1.Pod) {
	t.Helper()
	if *p.Spec.AutomountServiceAccountToken || p.Spec.HostNetwork || p.Spec.HostPID || p.Spec.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Error("the pod is not confined")
	}
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		s := c.SecurityContext
		if *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || s.Privileged != nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || slices.Contains(s.Capabilities.Add, "NET_RAW") {
			t.Errorf("container %s is not confined", c.Name)
		}
	}
}

// Without limits of pods, the containers share the group's and never have more together.
func TestNew_DividesLimits(t *testing.T) {
	t.Parallel()
	o := options()
	o.HostPaths, o.NoPodLimits = []string{"/"}, true
	g := full()
	p, err := New(o, run(g))
	if err != nil {
		t.Fatal(err)
	}
	if p.Spec.Resources != nil {
		t.Error("the pod has limits")
	}
	var memory, cpu int64
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		if c.Resources.Limits.Memory().IsZero() || c.Resources.Limits.Cpu().IsZero() {
			t.Errorf("container %s has no limit", c.Name)
		}
		if c.Name != "maps" { // it has ended before the others run
			memory += c.Resources.Limits.Memory().Value() >> 20
			cpu += c.Resources.Limits.Cpu().MilliValue()
		}
	}
	if memory > int64(g.MemoryMiB) || memory < int64(g.MemoryMiB)-4 || cpu > int64(g.CPUMillis) || cpu < int64(g.CPUMillis)-4 {
		t.Errorf("the containers have %d MiB and %d thousandths together", memory, cpu)
	}
}

// What a pod cannot express, or the operator forbids, is refused with the reason.
func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	depends := func(g *protocol.Group, n int, on, condition string) {
		g.Containers[n].DependsOn = append(g.Containers[n].DependsOn, protocol.Dependency{Container: on, Condition: condition})
	}
	for want, change := range map[string]func(*protocol.Group){
		"--allow-host-path": func(g *protocol.Group) {
			g.Containers[4].Mounts = []protocol.Mount{{Instance: "/var/games/../lib", Container: "/x"}}
		},
		"read-only": func(g *protocol.Group) {
			g.Containers[4].Mounts = []protocol.Mount{{Instance: "/var/games/saves", Container: "/x", Writable: true}}
		},
		"--allow-capability":            func(g *protocol.Group) { g.Containers[0].Capabilities = []string{"SYS_ADMIN"} },
		"cannot express":                func(g *protocol.Group) { depends(g, 4, "maps", "START") },
		"until the game server is HEAL": func(g *protocol.Group) { depends(g, 4, "Game", "HEALTHY") },
		"and after the game server": func(g *protocol.Group) {
			g.Containers[0].DependsOn = nil
			depends(g, 3, "Game", "START")
			depends(g, 4, "proxy", "START")
		},
		"not in the group": func(g *protocol.Group) { depends(g, 4, "nobody", "START") },
	} {
		o := options()
		o.HostPaths = []string{"/var/games"}
		g := full()
		change(g)
		if _, err := New(o, run(g)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// No container can fill the disk of its node, and none reserves a part of it.
func TestNew_Storage(t *testing.T) {
	t.Parallel()
	for _, noPodLimits := range []bool{false, true} {
		o := options()
		o.HostPaths, o.NoPodLimits, o.StorageMiB = []string{"/var/games"}, noPodLimits, 512
		p, err := New(o, run(full()))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
			request, said := c.Resources.Requests[corev1.ResourceEphemeralStorage]
			if c.Resources.Limits.StorageEphemeral().Value() != 512<<20 || !said || !request.IsZero() {
				t.Errorf("container %s may take %+v", c.Name, c.Resources)
			}
		}
		for _, v := range p.Spec.Volumes {
			if e := v.EmptyDir; e != nil && (e.SizeLimit == nil || e.SizeLimit.Value() != 512<<20) {
				t.Errorf("volume %s has the limit %v", v.Name, e.SizeLimit)
			}
		}
		o.StorageMiB = 0
		if p, err = New(o, run(full())); err != nil {
			t.Fatal(err)
		}
		if _, limited := p.Spec.Containers[0].Resources.Limits[corev1.ResourceEphemeralStorage]; limited || p.Spec.Volumes[0].EmptyDir.SizeLimit != nil {
			t.Error("0 is a limit")
		}
	}
}

// A per-instance group and the game servers of its instance share a node.
func TestNew_SharesNode(t *testing.T) {
	t.Parallel()
	g := &protocol.Group{Name: "helper", PerInstance: true, MemoryMiB: 64, CPUMillis: 100, Containers: []protocol.Container{{Name: "agent", Image: "a", Essential: true}}}
	r := run(g)
	r.ProcessID = ""
	p, err := New(options(), r)
	if err != nil {
		t.Fatal(err)
	}
	terms := p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if len(terms) != 1 || terms[0].TopologyKey != corev1.LabelHostname || terms[0].LabelSelector.MatchLabels[LabelInstance] != "i-1" {
		t.Errorf("its affinity is %+v", terms)
	}
	if _, ok := p.Labels[LabelProcess]; ok {
		t.Error("it has a process id")
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, text := range []string{"Game", "game", "GAME", "ga_me", "ga-me", "-game", "", "_", strings.Repeat("x", 90), strings.Repeat("x", 91), "0"} {
		got := name(text)
		if len(got) > maxName || got == "" || strings.Trim(got, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.Trim(got, "-") != got {
			t.Errorf("%q becomes %q", text, got)
		}
		if other, taken := seen[got]; taken {
			t.Errorf("%q and %q become %q", text, other, got)
		}
		seen[got] = text
	}
}

// status returns the pod of a run as a kubelet reports it.
func status(t *testing.T, s corev1.PodStatus) *corev1.Pod {
	t.Helper()
	o := options()
	o.HostPaths = []string{"/"}
	p, err := New(o, run(full()))
	if err != nil {
		t.Fatal(err)
	}
	p.Spec.NodeName, p.Status = "node-1", s
	return p
}

func running(name string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}}
}

func exited(name string, code int32, reason string, at time.Time) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, StartedAt: metav1.NewTime(at.Add(-time.Hour)), FinishedAt: metav1.NewTime(at)}}}
}

func waiting(name, reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
}

func TestRead(t *testing.T) {
	t.Parallel()
	game, now := name("Game"), time.Now()
	again := running("cache")
	again.RestartCount, again.LastTerminationState = 1, exited("cache", 137, "Error", now).State
	type want struct {
		phase protocol.GroupPhase
		code  string
		cause string
		end   bool
		stop  bool
	}
	for what, tt := range map[string]struct {
		status corev1.PodStatus
		want   want
	}{
		"pulling":  {corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{waiting(game, "PodInitializing", "")}}, want{phase: protocol.GroupPulling}},
		"starting": {corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{running("cache")}, ContainerStatuses: []corev1.ContainerStatus{waiting(game, "PodInitializing", "")}}, want{phase: protocol.GroupStarting}},
		"running":  {corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{running(game), waiting("stats", "ErrImagePull", "no")}}, want{phase: protocol.GroupRunning}},
		"no image": {corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{waiting(game, "InvalidImageName", "bad")}}, want{protocol.GroupFailed, codeImage, "container Game cannot be pulled: bad", false, false}},
		"no start": {corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{waiting(game, "CreateContainerError", "x")}}, want{protocol.GroupFailed, CodeStart, "container Game cannot be started: x", false, false}},
		"clean":    {corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{exited(game, 0, "Completed", now), running("stats")}}, want{protocol.GroupFailed, "", "", true, true}},
		"crashed":  {corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{exited(game, 3, "Error", now)}}, want{protocol.GroupFailed, codeCrashed, "container Game exited with code 3", true, false}},
		"memory":   {corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{exited(game, 137, "OOMKilled", now)}}, want{protocol.GroupFailed, codeCrashed, "for want of memory (its limit is 1024 MiB)", true, false}},
		"helper": {corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{running(game), exited("stats", 1, "Error", now)}},
			want{phase: protocol.GroupRunning}},
		"unhealthy": {corev1.PodStatus{Phase: corev1.PodRunning, InitContainerStatuses: []corev1.ContainerStatus{again}, ContainerStatuses: []corev1.ContainerStatus{running(game)}},
			want{protocol.GroupFailed, codeUnhealthy, "container cache was not healthy", true, true}},
		"init": {corev1.PodStatus{Phase: corev1.PodFailed, InitContainerStatuses: []corev1.ContainerStatus{exited("maps", 2, "Error", now)}},
			want{protocol.GroupFailed, codeCrashed, "container maps exited with code 2, for which others wait", true, false}},
		"evicted": {corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "low on memory"}, want{protocol.GroupFailed, codeCrashed, "its pod ended (Evicted: low on memory)", true, false}},
		"first of two": {corev1.PodStatus{Phase: corev1.PodRunning, InitContainerStatuses: []corev1.ContainerStatus{exited("cache", 143, "Error", now)}, ContainerStatuses: []corev1.ContainerStatus{exited(game, 5, "Error", now.Add(-time.Minute))}},
			want{protocol.GroupFailed, codeCrashed, "container Game exited with code 5", true, true}},
	} {
		s := Read(status(t, tt.status), nil, false)
		got := want{s.Phase, s.Code, s.Cause, s.End != nil, s.End != nil && s.End.Stop}
		if !strings.Contains(got.cause, tt.want.cause) || tt.want.cause == "" && got.cause != "" {
			t.Errorf("%s: the cause is %q, want %q", what, got.cause, tt.want.cause)
		}
		if got.cause = tt.want.cause; got != tt.want {
			t.Errorf("%s: got %+v, want %+v", what, got, tt.want)
		}
	}
}

// A pod that the cluster removes has not crashed, unless it ended before.
func TestRead_Removed(t *testing.T) {
	t.Parallel()
	now, game := time.Now(), name("Game")
	grace := int64(30)
	target := func(at time.Time) []corev1.PodCondition {
		return []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "TerminationByKubelet", LastTransitionTime: metav1.NewTime(at)}}
	}
	ended := []corev1.ContainerStatus{exited(game, 137, "Error", now)}
	for what, tt := range map[string]struct {
		status  corev1.PodStatus
		deleted time.Time // when its deletion was requested
		want    string
	}{
		"by itself":             {corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: ended}, time.Time{}, ""},
		"evicted by the API":    {corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: ended}, now.Add(-time.Second), CodeStopped},
		"deleted after its end": {corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: ended}, now.Add(time.Second), ""},
		"evicted by the node":   {corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Conditions: target(now.Add(-time.Second)), ContainerStatuses: ended}, time.Time{}, CodeStopped},
		"before it started":     {corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Conditions: target(now)}, time.Time{}, CodeStopped},
		"chosen after its end":  {corev1.PodStatus{Phase: corev1.PodFailed, Conditions: target(now.Add(time.Second)), ContainerStatuses: ended}, time.Time{}, ""},
		"more disk than it may": {corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "exceeds the limit"}, time.Time{}, ""},
	} {
		p := status(t, tt.status)
		if !tt.deleted.IsZero() {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: tt.deleted.Add(30 * time.Second)}, &grace
		}
		if s := Read(p, nil, false); s.End == nil || s.End.Reason != tt.want || (s.Code == codeCrashed) != (tt.want == "") {
			t.Errorf("%s: %s, %+v; want the reason %q", what, s.Code, s.End, tt.want)
		}
	}
}

func TestRead_Lost(t *testing.T) {
	t.Parallel()
	p := status(t, corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{running(name("Game"))}})
	node := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute}}}}
	if s := Read(p, node, false); s.End != nil {
		t.Errorf("a pod on a silent node has ended before it is deleted: %+v", s.End)
	}
	if s := Read(p, nil, false); s.End != nil {
		t.Errorf("a pod on an unknown node has ended: %+v", s.End)
	}
	if s := Read(p, nil, true); s.End == nil || s.End.Known {
		t.Errorf("a pod on no node has not ended: %+v", s.End)
	}
	now := metav1.Now()
	p.DeletionTimestamp = &now
	if s := Read(p, &corev1.Node{}, true); s.End != nil {
		t.Errorf("a pod that is told to end has ended: %+v", s.End)
	}
	if s := Read(p, node, true); s.End == nil || s.End.Known {
		t.Errorf("a deleted pod on a silent node has not ended: %+v", s.End)
	}
}

func TestDeleted(t *testing.T) {
	t.Parallel()
	p := status(t, corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{running(name("Game"))}, Conditions: []corev1.PodCondition{
		{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "PreemptionByScheduler", Message: "preempting to accommodate a higher priority pod"},
	}})
	if s := Deleted(p); s.End == nil || !strings.Contains(s.End.Cause, "PreemptionByScheduler") || s.End.Reason != CodeStopped {
		t.Errorf("a preempted pod ended with %+v", s.End)
	}
	maps.Copy(p.Annotations, map[string]string{NoteReason: "SERVER_PROCESS_FORCE_TERMINATED"})
	if s := Deleted(p); s.End.Reason != "SERVER_PROCESS_FORCE_TERMINATED" {
		t.Errorf("a pod that Muster ended has the reason %q", s.End.Reason)
	}
}

func TestAddress(t *testing.T) {
	t.Parallel()
	all := []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}, {Type: corev1.NodeInternalDNS, Address: "node.internal"},
		{Type: corev1.NodeExternalIP, Address: "203.0.113.1"}, {Type: corev1.NodeExternalDNS, Address: "node.example"},
	}
	for n, want := range [][2]string{{"", ""}, {"10.0.0.1", ""}, {"10.0.0.1", "node.internal"}, {"203.0.113.1", ""}, {"203.0.113.1", "node.example"}} {
		ip, ipv6, dns := Address(&corev1.Node{Status: corev1.NodeStatus{Addresses: all[:n]}})
		if ip != want[0] || ipv6 != "" || dns != want[1] {
			t.Errorf("with %d addresses players reach %q, %q, %q; want %q", n, ip, ipv6, dns, want)
		}
	}
	if ip, ipv6, dns := Address(nil); ip+ipv6+dns != "" {
		t.Error("no node has an address")
	}
	for ips, want := range map[string][2]string{
		"2001:db8::1 203.0.113.1": {"203.0.113.1", "2001:db8::1"}, "203.0.113.1 203.0.113.2 2001:db8::1 2001:db8::2": {"203.0.113.1", "2001:db8::1"},
		"2001:db8::1": {"2001:db8::1", ""}, "0.0.0.0 2001:db8::1": {"2001:db8::1", ""}, "fe80::1": {"10.0.0.1", ""},
	} {
		both := slices.Clone(all[:2])
		for _, ip := range strings.Fields(ips) {
			both = append(both, corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: ip})
		}
		if ip, ipv6, _ := Address(&corev1.Node{Status: corev1.NodeStatus{Addresses: both}}); ip != want[0] || ipv6 != want[1] {
			t.Errorf("with %s players reach %q, %q; want %q", ips, ip, ipv6, want)
		}
	}
}
