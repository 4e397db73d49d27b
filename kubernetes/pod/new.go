package pod

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/hosts/protocol"
)

// Options are what the operator of the cluster decides for all pods.
type Options struct {
	Agent        string // name of the muster-kubernetes
	Namespace    string
	NodeSelector map[string]string
	Tolerations  []corev1.Toleration
	PullSecrets  []string // names of Secrets with which images are pulled
	Capabilities []string // of those with which a container can take over its node: what definitions may add
	HostPaths    []string // folders of nodes below which mount points may be
	Priority     string   // PriorityClass
	Runtime      string   // RuntimeClass
	ReadOnlyRoot bool     // containers write to /tmp and mount points only
	NonRoot      bool     // images that run as root are refused by the node
	NoPodLimits  bool     // the cluster does not know limits of whole pods (before 1.34)
	LostAfter    time.Duration
	StorageMiB   int // what a container may write to its node's disk, and to /tmp; 0: no limit
}

// Run is one run of a group.
type Run struct {
	Desired   *protocol.Desired // the group's instance
	Group     *protocol.Group
	Number    int    // from 1
	ProcessID string // of the game server
	Crashes   int    // consecutive ones before this run
}

// container is what is noted of a container in its pod.
type container struct {
	Name      string // in the definition
	Here      string // in the pod
	Game      bool   `json:",omitempty"`
	Essential bool   `json:",omitempty"`
	Sidecar   bool   `json:",omitempty"`
	MemoryMiB int    `json:",omitempty"` // its limit
}

// New returns the pod of a run. It fails if a pod cannot be what the group's definition
// says, or the operator does not allow it; the error is for people.
func New(o *Options, r Run) (*corev1.Pod, error) {
	sorted, roles, err := order(r.Group.Containers)
	if err != nil {
		return nil, err
	}
	p := r.bare(o)
	limits := limitsOf(o, r.Group, roles)
	if !o.NoPodLimits {
		p.Spec.Resources = &corev1.ResourceRequirements{Limits: amounts(r.Group.CPUMillis, r.Group.MemoryMiB), Requests: amounts(r.Group.CPUMillis, r.Group.MemoryMiB)}
	}
	var notes []container
	for _, c := range sorted {
		to, err := r.container(o, p, c)
		if err != nil {
			return nil, err
		}
		to.Resources = limits[c.Name]
		limitStorage(&to.Resources, o.StorageMiB)
		note := container{Name: c.Name, Here: to.Name, Game: c.Game, Essential: c.Essential || c.Game, MemoryMiB: cmp.Or(c.MemoryMiB, r.Group.MemoryMiB)}
		always := corev1.ContainerRestartPolicyAlways
		switch roles[c.Name] {
		case sidecar:
			note.Sidecar, to.RestartPolicy = true, &always
			to.StartupProbe = startup(c)
			p.Spec.InitContainers = append(p.Spec.InitContainers, to)
		case before:
			to.LivenessProbe = nil
			p.Spec.InitContainers = append(p.Spec.InitContainers, to)
		default:
			p.Spec.Containers = append(p.Spec.Containers, to)
		}
		notes = append(notes, note)
	}
	if len(p.Spec.Containers) == 0 {
		return nil, errors.New("every container of the group is waited for by another one, which a pod cannot express")
	}
	text, err := json.Marshal(notes)
	if err != nil {
		return nil, err
	}
	p.Annotations[noteContainers] = string(text)
	return p, nil
}

// bare returns the pod of a run without containers.
func (r Run) bare(o *Options) *corev1.Pod {
	no, grace := false, int64(Grace/time.Second)
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: Name(r.Desired.InstanceID, r.Group.Name, r.Number), Namespace: o.Namespace,
			Labels: map[string]string{
				LabelManager: Manager, LabelAgent: o.Agent, LabelInstance: Label(r.Desired.InstanceID), LabelFleet: Label(r.Desired.FleetID),
				LabelGroup: Label(r.Group.Name),
			},
			Annotations: map[string]string{
				noteDefinition: r.Group.Definition, noteFleetID: r.Desired.FleetID, noteRun: strconv.Itoa(r.Number), noteCrashes: strconv.Itoa(r.Crashes),
			},
		},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: &grace,
			AutomountServiceAccountToken: &no, EnableServiceLinks: &no,
			NodeSelector: map[string]string{corev1.LabelOSStable: "linux"}, PriorityClassName: o.Priority,
			SecurityContext: &corev1.PodSecurityContext{SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Tolerations:     append(lost(o.LostAfter), o.Tolerations...),
		},
	}
	if r.ProcessID != "" {
		p.Labels[LabelProcess] = Label(r.ProcessID)
	}
	maps.Copy(p.Spec.NodeSelector, o.NodeSelector)
	if o.Runtime != "" {
		p.Spec.RuntimeClassName = &o.Runtime
	}
	if o.NonRoot {
		yes := true
		p.Spec.SecurityContext.RunAsNonRoot = &yes
	}
	for _, s := range o.PullSecrets {
		p.Spec.ImagePullSecrets = append(p.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: s})
	}
	if hasPerInstance(r.Desired) {
		// The per-instance group serves the others of its instance over their node.
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{LabelAgent: o.Agent, LabelInstance: p.Labels[LabelInstance]}},
			TopologyKey:   corev1.LabelHostname,
		}}}}
	}
	setBusy(p.Labels, p.Annotations, r.Group.Busy)
	return p
}

// Grace is how long a pod has to end by itself unless it is told otherwise.
const Grace = 10 * time.Second

func hasPerInstance(d *protocol.Desired) bool {
	for _, g := range d.Groups {
		if g.PerInstance {
			return true
		}
	}
	return false
}

// lost returns the tolerations that say how long a pod stays on a node that is gone or does
// not answer.
func lost(after time.Duration) []corev1.Toleration {
	if after == 0 {
		return nil
	}
	seconds := int64(after / time.Second)
	var list []corev1.Toleration
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		list = append(list, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds})
	}
	return list
}

// setBusy marks a pod for those who may evict it: the disruption budget by the label,
// cluster autoscalers by the annotations.
func setBusy(labels, annotations map[string]string, busy bool) {
	labels[LabelBusy] = strconv.FormatBool(busy)
	annotations[noteSafeToEvict] = strconv.FormatBool(!busy)
	annotations[noteNoDisrupt] = strconv.FormatBool(busy)
}

// BusyPatch returns the merge patch that marks a pod as busy or not.
func BusyPatch(busy bool) []byte {
	labels, annotations := map[string]string{}, map[string]string{}
	setBusy(labels, annotations, busy)
	return patch("", labels, annotations)
}

// ReasonPatch returns the merge patch that notes why a pod is ended. It conflicts with
// another pod of the same name.
func ReasonPatch(code string, uid types.UID) []byte {
	return patch(uid, nil, map[string]string{NoteReason: code})
}

// ReportedPatch returns the merge patch that notes that Muster knows how a pod ended.
func ReportedPatch() []byte { return patch("", nil, map[string]string{noteReported: "true"}) }

func patch(uid types.UID, labels, annotations map[string]string) []byte {
	type meta struct {
		UID         types.UID         `json:"uid,omitempty"`
		Labels      map[string]string `json:"labels,omitempty"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}
	text, _ := json.Marshal(struct { // of strings only: it cannot fail
		Metadata meta `json:"metadata"`
	}{meta{uid, labels, annotations}})
	return text
}

// container returns a container of the pod, and adds the volumes that it needs.
func (r Run) container(o *Options, p *corev1.Pod, c *protocol.Container) (corev1.Container, error) {
	no, readOnly := false, o.ReadOnlyRoot
	to := corev1.Container{
		Name: name(c.Name), Image: c.Image, Env: r.environment(c), ImagePullPolicy: corev1.PullIfNotPresent,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &readOnly,
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: slices.Clone(capabilities)},
		},
		VolumeMounts:  []corev1.VolumeMount{{Name: temporary, MountPath: "/tmp", SubPath: name(c.Name)}},
		LivenessProbe: probe(c.Health),
	}
	if len(p.Spec.Volumes) == 0 {
		folder := &corev1.EmptyDirVolumeSource{}
		if o.StorageMiB > 0 {
			folder.SizeLimit = storage(o.StorageMiB)
		}
		p.Spec.Volumes = []corev1.Volume{{Name: temporary, VolumeSource: corev1.VolumeSource{EmptyDir: folder}}}
	}
	for _, capability := range c.Capabilities {
		capability = strings.TrimPrefix(capability, "CAP_")
		if slices.Contains(nodeCapabilities, capability) && !slices.Contains(o.Capabilities, capability) {
			return to, fmt.Errorf("container %s adds the capability %s, with which it could take over its node; see --allow-capability", c.Name, capability)
		}
		if capability == "SYS_ADMIN" {
			to.SecurityContext.AllowPrivilegeEscalation = nil // it implies that; the API server refuses the contradiction
		}
		to.SecurityContext.Capabilities.Add = append(to.SecurityContext.Capabilities.Add, corev1.Capability(capability))
	}
	for _, port := range c.Ports {
		to.Ports = append(to.Ports, corev1.ContainerPort{ContainerPort: int32(port.Container), HostPort: int32(port.Host), Protocol: corev1.Protocol(port.Protocol)})
	}
	for _, m := range c.Mounts {
		volume, err := r.volume(o, p, m)
		if err != nil {
			return to, fmt.Errorf("container %s: %w", c.Name, err)
		}
		mount := corev1.VolumeMount{Name: volume, MountPath: cmp.Or(m.Container, m.Instance), ReadOnly: !m.Writable}
		if mount.MountPath == "/tmp" {
			to.VolumeMounts = nil
		}
		to.VolumeMounts = append(to.VolumeMounts, mount)
	}
	return to, nil
}

// capabilities are those that every container has, as on the engines of hosts: enough for
// a program that starts as root, changes the owner of its own files and continues as
// another user.
var capabilities = []corev1.Capability{"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "NET_BIND_SERVICE", "SETGID", "SETPCAP", "SETUID"}

// nodeCapabilities are those with which a container can take over its node.
var nodeCapabilities = []string{
	"AUDIT_CONTROL", "BPF", "DAC_READ_SEARCH", "LINUX_IMMUTABLE", "MAC_ADMIN", "MAC_OVERRIDE", "PERFMON", "SYSLOG",
	"SYS_ADMIN", "SYS_BOOT", "SYS_MODULE", "SYS_PACCT", "SYS_PTRACE", "SYS_RAWIO", "SYS_TIME", "SYS_TTY_CONFIG",
}

// temporary is the volume of the containers' folders for temporary files.
const temporary = "tmp"

// volume returns the volume of a folder of the node.
func (r Run) volume(o *Options, p *corev1.Pod, m protocol.Mount) (string, error) {
	folder := path.Clean(m.Instance)
	allowed := false
	for _, prefix := range o.HostPaths {
		prefix = path.Clean(prefix)
		allowed = allowed || folder == prefix || strings.HasPrefix(folder, strings.TrimSuffix(prefix, "/")+"/")
	}
	if !allowed {
		return "", fmt.Errorf("its mount point %s is a folder of the node, which muster-kubernetes does not allow; see --allow-host-path", m.Instance)
	}
	if m.Writable { // a symbolic link in it would show the next container another folder
		return "", fmt.Errorf("its mount point %s is writable; muster-kubernetes mounts folders of nodes read-only", m.Instance)
	}
	volume := name("host" + folder)
	for _, v := range p.Spec.Volumes {
		if v.Name == volume {
			return volume, nil
		}
	}
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder}}})
	return volume, nil
}

// environment returns the environment of a container: the definition's, and for the game
// server what the Server SDKs read. The token comes from the instance's Secret.
func (r Run) environment(c *protocol.Container) []corev1.EnvVar {
	var own []corev1.EnvVar
	if c.Game {
		d := r.Desired
		own = []corev1.EnvVar{
			{Name: "GAMELIFT_COMPUTE_TYPE", Value: "CONTAINER"},
			{Name: "GAMELIFT_REGION", Value: d.Region},
			{Name: "GAMELIFT_SDK_WEBSOCKET_URL", Value: d.SDKURL},
			{Name: "GAMELIFT_SDK_FLEET_ID", Value: d.FleetID},
			{Name: "GAMELIFT_SDK_HOST_ID", Value: r.Group.Compute},
			{Name: "GAMELIFT_SDK_PROCESS_ID", Value: r.ProcessID},
			{Name: "GAMELIFT_SDK_AUTH_TOKEN", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: SecretName(d.InstanceID)}, Key: SecretKey(r.Group.Name),
			}}},
		}
	}
	taken := map[string]bool{}
	for _, v := range own {
		taken[v.Name] = true
	}
	var list []corev1.EnvVar
	for _, v := range c.Environment {
		if !taken[v.Name] {
			list = append(list, corev1.EnvVar{Name: v.Name, Value: literal(v.Value)})
		}
	}
	return append(list, own...)
}

// literal returns a value as a pod must have it: there $(NAME) is another variable and $$ a
// dollar sign, while definitions mean what they say.
func literal(value string) string { return strings.ReplaceAll(value, "$", "$$") }

// probe returns the check of a container's health, or nil.
func probe(h *protocol.ContainerHealth) *corev1.Probe {
	if h == nil || len(h.Command) == 0 {
		return nil
	}
	command := h.Command
	switch command[0] {
	case "CMD":
		command = command[1:]
	case "CMD-SHELL":
		command = append([]string{"/bin/sh", "-c"}, command[1:]...)
	}
	var words []string
	for _, w := range command {
		words = append(words, literal(w))
	}
	return &corev1.Probe{
		ProbeHandler:        corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: words}},
		PeriodSeconds:       seconds(h.Interval, 30),
		TimeoutSeconds:      seconds(h.Timeout, 5),
		InitialDelaySeconds: int32(h.StartPeriod / time.Second),
		FailureThreshold:    int32(cmp.Or(h.Retries, 3)),
	}
}

// startup returns the check that a sidecar passes before what waits for it is started.
// While it fails in the start period, that does not count.
func startup(c *protocol.Container) *corev1.Probe {
	p := probe(c.Health)
	if p == nil {
		return nil
	}
	p.FailureThreshold += p.InitialDelaySeconds / p.PeriodSeconds
	p.InitialDelaySeconds = 0
	return p
}

func seconds(d time.Duration, usual int32) int32 {
	if d <= 0 {
		return usual
	}
	return max(1, int32(d/time.Second))
}

// limitsOf returns what each container may use. If the pod has limits of its own, only the
// containers with limits in the definition have some. Otherwise the group's are divided:
// containers that run at the same time get what the others leave, in equal parts.
func limitsOf(o *Options, g *protocol.Group, roles map[string]role) map[string]corev1.ResourceRequirements {
	all := map[string]corev1.ResourceRequirements{}
	memory, cpu, without, idle := g.MemoryMiB, g.CPUMillis, 0, 0
	for _, c := range g.Containers {
		if roles[c.Name] == before {
			continue // it has ended before the others start
		}
		memory, cpu = memory-c.MemoryMiB, cpu-c.CPUMillis
		if c.MemoryMiB == 0 {
			without++
		}
		if c.CPUMillis == 0 {
			idle++
		}
	}
	for _, c := range g.Containers {
		var r corev1.ResourceRequirements
		if !o.NoPodLimits {
			r.Limits, r.Requests = amounts(0, c.MemoryMiB), amounts(c.CPUMillis, 0)
			all[c.Name] = r
			continue
		}
		own, share := c.MemoryMiB, c.CPUMillis
		if roles[c.Name] == before {
			own, share = cmp.Or(own, g.MemoryMiB), cmp.Or(share, g.CPUMillis)
		}
		if own == 0 {
			own = max(4, memory/max(1, without))
		}
		if share == 0 {
			share = max(1, cpu/max(1, idle))
		}
		r.Limits = amounts(share, own)
		r.Requests = amounts(share, own)
		all[c.Name] = r
	}
	return all
}

// limitStorage limits what a container writes to its node's disk. Nothing is requested, so
// that the limit does not count as used.
func limitStorage(r *corev1.ResourceRequirements, mib int) {
	if mib == 0 {
		return
	}
	r.Limits, r.Requests = maps.Clone(r.Limits), maps.Clone(r.Requests)
	if r.Limits == nil {
		r.Limits = corev1.ResourceList{}
	}
	if r.Requests == nil {
		r.Requests = corev1.ResourceList{}
	}
	r.Limits[corev1.ResourceEphemeralStorage], r.Requests[corev1.ResourceEphemeralStorage] = *storage(mib), resource.Quantity{}
}

func storage(mib int) *resource.Quantity {
	return resource.NewQuantity(int64(mib)<<20, resource.BinarySI)
}

// amounts returns amounts of resources, without those that are 0.
func amounts(cpuMillis, memoryMiB int) corev1.ResourceList {
	list := corev1.ResourceList{}
	if cpuMillis > 0 {
		list[corev1.ResourceCPU] = *resource.NewMilliQuantity(int64(cpuMillis), resource.DecimalSI)
	}
	if memoryMiB > 0 {
		list[corev1.ResourceMemory] = *resource.NewQuantity(int64(memoryMiB)<<20, resource.BinarySI)
	}
	if len(list) == 0 {
		return nil
	}
	return list
}
