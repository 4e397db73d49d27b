package charttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/ziptest"
	"github.com/musterhq/muster/kubernetes/pod"
)

// game is a game session.
type game struct {
	GameSessionId, IpAddress, Status string
	Port                             int
}

// define creates a definition of game servers, and waits until it is READY.
func (s *story) define(name, image string) {
	s.t.Helper()
	container := map[string]any{
		"ContainerName": "game", "ImageUri": image, "ServerSdkVersion": "5.4.0",
		"PortConfiguration": map[string]any{"ContainerPortRanges": []any{map[string]any{"FromPort": 7777, "ToPort": 7777, "Protocol": "UDP"}}},
	}
	s.call("CreateContainerGroupDefinition", map[string]any{
		"Name": name, "OperatingSystem": "AMAZON_LINUX_2023", "TotalMemoryLimitMebibytes": 128, "TotalVcpuLimit": 0.25, "GameServerContainerDefinition": container,
	}, nil)
	s.until("the definition is ready", time.Minute, func(ctx context.Context) (bool, error) {
		var out struct {
			ContainerGroupDefinition struct{ Status, StatusReason string }
		}
		err := s.muster.Call(ctx, "DescribeContainerGroupDefinition", map[string]any{"Name": name}, &out)
		d := out.ContainerGroupDefinition
		return d.Status == "READY", fmt.Errorf("%w: %+v", errors.Join(err), d)
	})
}

// create creates a container fleet, and returns its id.
func (s *story) create(definition string, copies int) string {
	s.t.Helper()
	var out struct {
		ContainerFleet struct{ FleetId string }
	}
	s.call("CreateContainerFleet", map[string]any{
		"FleetRoleArn": "arn:aws:iam::000000000000:role/none", "GameServerContainerGroupDefinitionName": definition, "GameServerContainerGroupsPerInstance": copies,
		"Locations": []any{map[string]any{"Location": "custom-cluster"}}, "NewGameSessionProtectionPolicy": "FullProtection",
	}, &out)
	return out.ContainerFleet.FleetId
}

// active waits until the cluster's location of a fleet is ACTIVE.
func (s *story) active(fleet string) {
	s.t.Helper()
	s.until("the fleet is active", 4*time.Minute, func(ctx context.Context) (bool, error) {
		var out struct {
			LocationAttributes []struct {
				LocationState struct{ Location, Status string }
			}
		}
		err := s.muster.Call(ctx, "DescribeFleetLocationAttributes", map[string]any{"FleetId": fleet}, &out)
		for _, l := range out.LocationAttributes {
			if l.LocationState.Location == "custom-cluster" && l.LocationState.Status == "ACTIVE" {
				return true, nil
			}
		}
		return false, fmt.Errorf("%w: %+v", errors.Join(err), out)
	})
}

// events returns the events of a fleet, each as its code and its message.
func (s *story) events(ctx context.Context, fleet string) (all []string) {
	var out struct {
		Events    []struct{ EventCode, Message string }
		NextToken string
	}
	for {
		in := map[string]any{"FleetId": fleet, "Limit": 100}
		if out.NextToken != "" {
			in["NextToken"] = out.NextToken
		}
		out.Events, out.NextToken = nil, ""
		if err := s.muster.Call(ctx, "DescribeFleetEvents", in, &out); err != nil {
			return append(all, err.Error())
		}
		for _, e := range out.Events {
			all = append(all, e.EventCode+" "+e.Message)
		}
		if out.NextToken == "" {
			return all
		}
	}
}

// event waits for an event whose text has all of some words.
func (s *story) event(fleet string, words ...string) {
	s.t.Helper()
	s.until("there is an event with "+strings.Join(words, ", "), 3*time.Minute, func(ctx context.Context) (bool, error) {
		all := s.events(ctx, fleet)
		return slices.ContainsFunc(all, func(e string) bool {
			return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(e, w) })
		}), fmt.Errorf("the events are:\n%s", strings.Join(all, "\n"))
	})
}

// session creates a game session of a fleet when a game server is free, and returns it when
// it is ACTIVE.
func (s *story) session(fleet string) (g game) {
	s.t.Helper()
	s.until("there is a game session", 2*time.Minute, func(ctx context.Context) (bool, error) {
		var out struct{ GameSession game }
		err := s.muster.Call(ctx, "CreateGameSession", map[string]any{"FleetId": fleet, "Location": "custom-cluster", "MaximumPlayerSessionCount": 4}, &out)
		g = out.GameSession
		return err == nil, err
	})
	s.until("the game session is active", time.Minute, func(ctx context.Context) (bool, error) {
		now, err := s.look(ctx, g.GameSessionId)
		g = now
		return g.Status == "ACTIVE", fmt.Errorf("%w: it is %s", errors.Join(err), g.Status)
	})
	return g
}

func (s *story) look(ctx context.Context, id string) (game, error) {
	var out struct{ GameSessions []game }
	err := s.muster.Call(ctx, "DescribeGameSessions", map[string]any{"GameSessionId": id}, &out)
	if err != nil || len(out.GameSessions) != 1 {
		return game{}, fmt.Errorf("%d game sessions: %w", len(out.GameSessions), errors.Join(err))
	}
	return out.GameSessions[0], nil
}

// enter has a player play in a game session for a while. The returned function waits for the
// end, and fails the test unless the player was let in and heard the game to the last.
func (s *story) enter(g game, lasts time.Duration) (wait func()) {
	s.t.Helper()
	if g.IpAddress != nodeAddress || g.Port < firstPort || g.Port > lastPort {
		s.t.Fatalf("players reach the game session at %s:%d", g.IpAddress, g.Port)
	}
	var made struct {
		PlayerSession struct{ PlayerSessionId string }
	}
	s.call("CreatePlayerSession", map[string]any{"GameSessionId": g.GameSessionId, "PlayerId": fmt.Sprint("player-", time.Now().UnixNano())}, &made)
	address := s.at(fmt.Sprintf("udp:%d", g.Port))
	bot := exec.Command(s.arena, "bot", "--addr", address, "--player-session", made.PlayerSession.PlayerSessionId, "--for", lasts.String(), "--json")
	var out bytes.Buffer
	bot.Stdout, bot.Stderr = &out, &out
	s.check(bot.Start())
	t := s.t
	return func() {
		t.Helper()
		var result struct {
			Ending    string
			Snapshots int
		}
		if err := bot.Wait(); err != nil || json.Unmarshal(out.Bytes(), &result) != nil || result.Ending != "left" || result.Snapshots == 0 {
			t.Fatalf("the player at %s: %v\n%s", address, err, &out)
		}
	}
}

// of returns the pod of a game session: the one with its port.
func (s *story) of(g game) *corev1.Pod {
	s.t.Helper()
	all, err := s.runs(s.t.Context())
	s.check(err)
	for _, p := range all {
		for _, c := range p.Spec.Containers {
			for _, port := range c.Ports {
				if int(port.HostPort) == g.Port {
					return p
				}
			}
		}
	}
	s.t.Fatalf("no pod has port %d", g.Port)
	return nil
}

// busy waits until a pod is marked as hosting a game session, or as not.
func (s *story) busy(name string, want bool) {
	s.t.Helper()
	s.until(fmt.Sprintf("%s is busy: %t", name, want), time.Minute, func(ctx context.Context) (bool, error) {
		p, err := s.api.CoreV1().Pods(games).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return p.Labels[pod.LabelBusy] == fmt.Sprint(want), errors.New(p.Labels[pod.LabelBusy])
	})
}

// idle returns a running pod that hosts no game session.
func (s *story) idle() (name string) {
	s.t.Helper()
	s.until("a pod is idle", time.Minute, func(ctx context.Context) (bool, error) {
		all, err := s.runs(ctx)
		for _, p := range all {
			if p.Labels[pod.LabelBusy] != "true" && p.Labels[pod.LabelFleet] == s.fleet {
				name = p.Name
				return true, nil
			}
		}
		return false, err
	})
	return name
}

// replaced waits until a pod is gone or over and as many run as before.
func (s *story) replaced(name string, want int) {
	s.t.Helper()
	s.until("another pod runs for "+name, 3*time.Minute, func(ctx context.Context) (bool, error) {
		all, err := s.runs(ctx)
		return err == nil && all[name] == nil && len(all) == want, fmt.Errorf("%d pods run: %w", len(all), errors.Join(err))
	})
}

// container creates a fleet whose game servers are pods.
func (s *story) container() {
	s.define("arena", s.image)
	s.fleet = s.create("arena", 3)
	s.active(s.fleet)
	s.replaced("", 3)
	out := s.run(`for p in $(pids arena); do grep -E "^(NoNewPrivs|Seccomp):" /proc/$p/status; cat /sys/fs/cgroup$(cut -d: -f3 /proc/$p/cgroup)/../{memory.max,cpu.max}; done`)
	for _, want := range []string{"NoNewPrivs:\t1", "Seccomp:\t2", "134217728", "25000 100000"} {
		if strings.Count(out, want) != 3 {
			s.t.Errorf("three game servers have not %q:\n%s", want, out)
		}
	}
}

// play has a player play over the node's port.
func (s *story) play() {
	g := s.session(s.fleet)
	p := s.of(g)
	s.busy(p.Name, true)
	s.enter(g, 2*time.Second)()
	s.until("the game session has ended", time.Minute, func(ctx context.Context) (bool, error) {
		now, err := s.look(ctx, g.GameSessionId)
		return now.Status == "TERMINATED", errors.Join(err, errors.New(now.Status))
	})
	s.replaced(p.Name, 3)
}

// eviction: what hosts a game session is not evicted, anything else is, and starts again.
func (s *story) eviction() {
	g := s.session(s.fleet)
	p := s.of(g)
	s.busy(p.Name, true)
	done := s.enter(g, 8*time.Second)
	evict := func(name string) error {
		return s.api.PolicyV1().Evictions(games).Evict(s.t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: games}})
	}
	s.until("the disruption budget counts the pod", time.Minute, func(ctx context.Context) (bool, error) {
		b, err := s.api.PolicyV1().PodDisruptionBudgets(games).Get(ctx, "muster-kubernetes-busy", metav1.GetOptions{})
		return err == nil && b.Status.CurrentHealthy == 1, fmt.Errorf("%w %+v", errors.Join(err), b.Status)
	})
	if err := evict(p.Name); !apierrors.IsTooManyRequests(err) {
		s.t.Errorf("the eviction of a pod with a game session: %v", err)
	}
	free := s.idle()
	s.check(evict(free))
	s.replaced(free, 3)
	done()
	s.replaced(p.Name, 3)
}

// crash kills a game server on its node.
func (s *story) crash() {
	name := s.idle()
	p, err := s.api.CoreV1().Pods(games).Get(s.t.Context(), name, metav1.GetOptions{})
	s.check(err)
	_, id, _ := strings.Cut(p.Status.ContainerStatuses[0].ContainerID, "://")
	s.run("ctr -n k8s.io tasks kill --signal SIGKILL " + id)
	s.event(s.fleet, "SERVER_PROCESS_CRASHED", "SIGKILL")
	s.replaced(name, 3)
}

// containerLogs reads the log of a game server that has ended.
func (s *story) containerLogs() {
	g := s.session(s.fleet)
	s.enter(g, time.Second)()
	var logs struct{ PreSignedUrl string }
	s.until("the log is there", time.Minute, func(ctx context.Context) (bool, error) {
		err := s.muster.Call(ctx, "GetGameSessionLogUrl", map[string]any{"GameSessionId": g.GameSessionId}, &logs)
		return err == nil && logs.PreSignedUrl != "", err
	})
	there := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, s.at("tcp:30443"))
	}
	response, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: s.authority.client(), DialContext: there}}).Get(logs.PreSignedUrl)
	s.check(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	s.check(err)
	if response.StatusCode != http.StatusOK {
		s.t.Fatalf("the log: %s: %.300q", response.Status, text)
	}
	files := ziptest.Files(s.t, text)
	if log := files["game.log"]; len(files) != 1 || !strings.Contains(log, "game session ended") || !strings.Contains(log, g.GameSessionId) {
		s.t.Errorf("the log of the game server is %q", files)
	}
}

// agent ends muster-kubernetes during a game: nothing happens to the game, and another one
// goes on.
func (s *story) agent() {
	s.replaced("", 3)
	g := s.session(s.fleet)
	before, err := s.runs(s.t.Context())
	s.check(err)
	done := s.enter(g, 10*time.Second)
	now := int64(0)
	for _, p := range s.part(games, "kubernetes") {
		s.check(s.api.CoreV1().Pods(games).Delete(s.t.Context(), p.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
	}
	done()
	free := ""
	for name := range before {
		if name != s.name(g) {
			free = name
		}
	}
	after, err := s.runs(s.t.Context())
	s.check(err)
	if after[free] == nil || after[free].UID != before[free].UID {
		s.t.Errorf("the pod %s went with muster-kubernetes", free)
	}
	s.replaced(s.name(g), 3) // by the next muster-kubernetes
	s.enter(s.session(s.fleet), time.Second)()
}

// name returns the name of the pod that had a port at the last look, or "".
func (s *story) name(g game) string {
	list, err := s.api.CoreV1().Pods(games).List(s.t.Context(), metav1.ListOptions{LabelSelector: pod.LabelFleet + "=" + pod.Label(s.fleet)})
	s.check(err)
	for _, p := range list.Items {
		for _, c := range p.Spec.Containers {
			if len(c.Ports) == 1 && int(c.Ports[0].HostPort) == g.Port {
				return p.Name
			}
		}
	}
	return ""
}
