package pod

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/address"
)

// The codes of events that explain problems of groups: CodeStart that of a group which
// cannot be a pod, CodeStopped that of one that is ended since it should not run.
const (
	codeImage         = "FLEET_BINARY_DOWNLOAD_FAILED"
	CodeStart         = "FLEET_ACTIVATION_FAILED"
	codeCrashed       = "GAME_SERVER_CONTAINER_GROUP_CRASHED"
	codeHelperCrashed = "PER_INSTANCE_CONTAINER_GROUP_CRASHED"
	codeUnhealthy     = "GAME_SERVER_CONTAINER_GROUP_REPLACED_UNHEALTHY"
	CodeStopped       = "SERVER_PROCESS_FORCE_TERMINATED"
)

// State is what a pod says of its run of a group.
type State struct {
	InstanceID string // as in the label
	Group      string // as in the label
	FleetID    string
	Definition string
	ProcessID  string
	Run        int
	Crashes    int
	Reported   bool // Muster knows how it ended
	Deleting   bool // its deletion was requested

	Phase      protocol.GroupPhase
	Code       string
	Cause      string
	Hopeless   bool // its images will never be had
	Started    time.Time
	Containers []protocol.ContainerStatus
	End        *End // nil: it has not ended
}

// End is how a run ended.
type End struct {
	Known  bool
	Code   int    // exit code; -1 if a signal ended it
	Signal string // SIGKILL, …
	OOM    bool
	Clean  bool   // the game server's container ended with code 0
	Reason string // event code of the request to end it, or of the cluster's, or ""
	Event  string // event code of the group, if it is not that of a crash
	Cause  string // as a sentence without a period
	Tail   []string
	Lived  time.Duration
	Stop   bool // containers of it still run: it must be deleted

	at time.Time // when it ended, or zero
}

// Read reads a pod. node is the node that it is on, if that is known to exist; nodes says
// whether all nodes are known.
func Read(p *corev1.Pod, node *corev1.Node, nodes bool) State {
	s := State{
		InstanceID: p.Labels[LabelInstance], Group: p.Labels[LabelGroup], FleetID: p.Annotations[noteFleetID],
		Definition: p.Annotations[noteDefinition], ProcessID: p.Labels[LabelProcess],
		Reported: p.Annotations[noteReported] == "true", Deleting: p.DeletionTimestamp != nil,
	}
	s.Run, _ = strconv.Atoi(p.Annotations[noteRun])         // 0 if somebody changed it: an old run
	s.Crashes, _ = strconv.Atoi(p.Annotations[noteCrashes]) // likewise
	known := notes(p)
	status := statuses(p)
	for _, c := range known {
		at := status[c.Here]
		if at == nil {
			continue
		}
		running := at.State.Running
		s.Containers = append(s.Containers, protocol.ContainerStatus{Name: c.Name, RuntimeID: at.ContainerID, IPAddress: p.Status.PodIP, Running: running != nil})
		if running != nil && (c.Game || s.ProcessID == "" && s.Started.IsZero()) {
			s.Started = running.StartedAt.Time
		}
	}
	s.phase(p, known, status)
	if s.End = endOf(p, known, status); s.End != nil {
		s.End.Reason = reasonOf(p, s.End.at)
	} else if p.Spec.NodeName != "" && IsLost(p, node, nodes) {
		s.End = &End{Reason: p.Annotations[NoteReason], Cause: fmt.Sprintf("its node %s was lost", p.Spec.NodeName), Stop: true}
	}
	if s.End != nil {
		s.ended(p)
	}
	return s
}

// reasonOf returns the event code of the request that ended a pod, or "" if it ended by
// itself at a time. A pod that the cluster or somebody else had begun to remove before, as
// for an eviction, has not crashed.
func reasonOf(p *corev1.Pod, at time.Time) string {
	if noted := p.Annotations[NoteReason]; noted != "" {
		return noted
	}
	before := func(request time.Time) bool { return at.IsZero() || !request.After(at) }
	if p.DeletionTimestamp != nil { // the end of the grace period
		var grace int64
		if p.DeletionGracePeriodSeconds != nil {
			grace = *p.DeletionGracePeriodSeconds
		}
		if before(p.DeletionTimestamp.Add(-time.Duration(grace) * time.Second)) {
			return CodeStopped
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && before(c.LastTransitionTime.Time) {
			return CodeStopped
		}
	}
	return ""
}

// ended sets what a state says of a run that has ended.
func (s *State) ended(p *corev1.Pod) {
	s.Phase, s.Cause = protocol.GroupFailed, s.End.Cause
	switch {
	case s.ProcessID == "":
		s.Code = codeHelperCrashed
	case s.End.Reason != "":
		s.Code = s.End.Reason
	case s.End.Clean:
		s.Code, s.Cause = "", ""
	default:
		s.Code = cmp.Or(s.End.Event, codeCrashed)
	}
	if s.Started.IsZero() && p.Status.StartTime != nil {
		s.Started = p.Status.StartTime.Time
	}
}

// Deleted returns the state of a pod that was deleted before it was seen to end.
func Deleted(p *corev1.Pod) State {
	s := Read(p, nil, false)
	if s.End == nil {
		s.End = &End{Reason: cmp.Or(p.Annotations[NoteReason], CodeStopped), Cause: "its pod was deleted" + disruption(p)}
		s.ended(p)
	}
	return s
}

// IsLost reports whether the node of a pod is gone, or does not answer while the pod's
// deletion was requested for that reason.
func IsLost(p *corev1.Pod, node *corev1.Node, nodes bool) bool {
	if node == nil {
		return nodes
	}
	if p.DeletionTimestamp == nil {
		return false
	}
	for _, t := range node.Spec.Taints {
		if t.Effect == corev1.TaintEffectNoExecute && (t.Key == corev1.TaintNodeUnreachable || t.Key == corev1.TaintNodeNotReady) {
			return true
		}
	}
	return false
}

func notes(p *corev1.Pod) []container {
	var list []container
	if json.Unmarshal([]byte(p.Annotations[noteContainers]), &list) == nil && len(list) > 0 {
		return list
	}
	for _, c := range p.Spec.Containers { // somebody changed the note
		list = append(list, container{Name: c.Name, Here: c.Name, Game: true, Essential: true})
	}
	return list
}

func statuses(p *corev1.Pod) map[string]*corev1.ContainerStatus {
	all := map[string]*corev1.ContainerStatus{}
	for _, list := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for n := range list {
			all[list[n].Name] = &list[n]
		}
	}
	return all
}

// phase sets the phase of a run that has not ended, and what is wrong.
func (s *State) phase(p *corev1.Pod, known []container, status map[string]*corev1.ContainerStatus) {
	s.Phase = protocol.GroupStarting
	running, waiting, begun := 0, 0, false
	for _, c := range known {
		at := status[c.Here]
		if at == nil {
			continue
		}
		begun = begun || at.State.Running != nil || at.State.Terminated != nil
		if at.State.Running != nil {
			running++
			if c.Game {
				s.Phase = protocol.GroupRunning
				return
			}
		}
		if w := at.State.Waiting; w != nil {
			waiting++
			s.waits(c, w)
		}
	}
	if s.Code != "" {
		s.Phase = protocol.GroupFailed
		return
	}
	switch {
	case p.Status.Phase == corev1.PodRunning && running > 0 && waiting == 0 && s.ProcessID == "":
		s.Phase = protocol.GroupRunning
	case p.Spec.NodeName == "":
		s.Cause = unschedulable(p)
	case !begun:
		s.Phase = protocol.GroupPulling
	}
}

// waits notes why a container is not started.
func (s *State) waits(c container, w *corev1.ContainerStateWaiting) {
	message := strings.TrimSpace(w.Message)
	switch w.Reason {
	case "ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "ImageInspectError", "SignatureValidationFailed":
		s.Code = codeImage
		s.Cause = fmt.Sprintf("the image of container %s cannot be pulled: %s", c.Name, cmp.Or(message, w.Reason))
		// The kubelet tries again; after the first pause it has tried at least twice.
		s.Hopeless = s.Hopeless || w.Reason == "ImagePullBackOff"
	case "InvalidImageName", "ErrImageNeverPull":
		s.Code, s.Hopeless = codeImage, true
		s.Cause = fmt.Sprintf("the image of container %s cannot be pulled: %s", c.Name, cmp.Or(message, w.Reason))
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PostStartHookError":
		s.Code = CodeStart
		s.Cause = fmt.Sprintf("container %s cannot be started: %s", c.Name, cmp.Or(message, w.Reason))
	}
}

// unschedulable says why no node takes a pod, or returns "".
func unschedulable(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Message != "" {
			return "no node of the cluster takes it: " + c.Message
		}
	}
	return ""
}

// disruption says who had a pod deleted, or returns "".
func disruption(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return strings.TrimSuffix(fmt.Sprintf(" (%s: %s)", c.Reason, c.Message), ": )")
		}
	}
	return ""
}

// endOf returns how a run ended, or nil. It has ended when its pod has, or with the first
// of its essential containers.
func endOf(p *corev1.Pod, known []container, status map[string]*corev1.ContainerStatus) *End {
	terminal := p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
	var first *End
	var at time.Time
	for _, c := range known {
		st := status[c.Here]
		if st == nil || !c.Essential {
			continue
		}
		t := st.State.Terminated
		if t == nil && c.Sidecar {
			t = st.LastTerminationState.Terminated // the kubelet has started it again
		}
		if t == nil {
			continue
		}
		if late := t.FinishedAt.Compare(at); first != nil && (late > 0 || late == 0 && !c.Game) {
			continue
		}
		first, at = ended(c, t), t.FinishedAt.Time
	}
	switch {
	case first != nil:
		first.Stop, first.at = !terminal, at
		if p.DeletionTimestamp != nil || p.Status.Reason != "" {
			first.Cause += why(p)
		}
		return first
	case terminal:
		return &End{Known: p.Status.Reason != "", Code: -1, Cause: failed(p, known, status) + why(p)}
	}
	return nil
}

// failed says why a pod ended although no essential container did.
func failed(p *corev1.Pod, known []container, status map[string]*corev1.ContainerStatus) string {
	for _, c := range known {
		if st := status[c.Here]; st != nil && st.State.Terminated != nil && st.State.Terminated.ExitCode != 0 {
			return ended(c, st.State.Terminated).Cause + ", for which others wait"
		}
	}
	return "its pod ended"
}

// why says why the cluster ended a pod, or returns "".
func why(p *corev1.Pod) string {
	if p.Status.Reason != "" {
		return strings.TrimSuffix(fmt.Sprintf(" (%s: %s)", p.Status.Reason, p.Status.Message), ": )")
	}
	return disruption(p)
}

// ended returns how a container ended.
func ended(c container, t *corev1.ContainerStateTerminated) *End {
	e := &End{Known: true, Code: int(t.ExitCode), OOM: t.Reason == "OOMKilled", Clean: c.Game && t.ExitCode == 0}
	if !t.StartedAt.IsZero() {
		e.Lived = max(0, t.FinishedAt.Sub(t.StartedAt.Time))
	}
	signal := unix.Signal(t.Signal)
	if t.Signal == 0 && t.ExitCode > 128 && t.ExitCode < 128+65 { // as runtimes report signals
		signal = unix.Signal(t.ExitCode - 128)
	}
	if name := unix.SignalName(signal); name != "" {
		e.Code, e.Signal = -1, name
	}
	if text := strings.TrimSpace(t.Message); text != "" {
		lines := strings.Split(text, "\n")
		e.Tail = lines[max(0, len(lines)-maxTail):]
	}
	switch {
	case t.Reason == "ContainerStatusUnknown":
		e.Known = false
		e.Cause = fmt.Sprintf("container %s ended while nobody watched", c.Name)
	case e.OOM:
		e.Cause = fmt.Sprintf("container %s was killed for want of memory (its limit is %d MiB)", c.Name, c.MemoryMiB)
	case e.Signal != "":
		e.Cause = fmt.Sprintf("container %s was ended by signal %s", c.Name, e.Signal)
	case t.Reason == "StartError" || t.Reason == "ContainerCannotRun":
		e.Cause = fmt.Sprintf("container %s cannot be started", c.Name)
	default:
		e.Cause = fmt.Sprintf("container %s exited with code %d", c.Name, t.ExitCode)
	}
	if c.Sidecar && (e.Signal == "SIGKILL" || e.Signal == "SIGTERM") && !e.OOM {
		e.Event, e.Cause = codeUnhealthy, fmt.Sprintf("container %s was not healthy", c.Name)
	}
	if len(e.Tail) > 0 && !e.Clean {
		e.Cause += ": " + e.Tail[len(e.Tail)-1]
	}
	return e
}

// maxTail bounds the lines of output in a report.
const maxTail = 20

// Address returns the addresses of a node for players: the IPv4 address, or the only one, the
// IPv6 address beside an IPv4 address, and the DNS name. External ones come first; IP addresses
// that nobody can reach do not count.
func Address(n *corev1.Node) (ip, ipv6, dns string) {
	if n == nil {
		return "", "", ""
	}
	of := map[corev1.NodeAddressType][]string{}
	for _, a := range n.Status.Addresses {
		isName := a.Type == corev1.NodeExternalDNS || a.Type == corev1.NodeInternalDNS
		if isName || address.Check(a.Address) == nil {
			of[a.Type] = append(of[a.Type], a.Address)
		}
	}
	ips, names := of[corev1.NodeExternalIP], of[corev1.NodeExternalDNS]
	if len(ips) == 0 && len(names) == 0 {
		names = of[corev1.NodeInternalDNS]
	}
	if len(ips) == 0 {
		ips = of[corev1.NodeInternalIP]
	}
	if len(names) > 0 {
		dns = names[0]
	}
	ip, ipv6 = ofEachKind(ips)
	return ip, ipv6, dns
}

// ofEachKind returns the first IPv4 and the first IPv6 address, or the only one as ip.
func ofEachKind(ips []string) (ip, ipv6 string) {
	if at := slices.IndexFunc(ips, address.IsIPv6); at >= 0 {
		ipv6 = ips[at]
	}
	if at := slices.IndexFunc(ips, func(text string) bool { return !address.IsIPv6(text) }); at >= 0 {
		return ips[at], ipv6
	}
	return ipv6, ""
}
