package serversdk_test

import (
	"maps"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// gameSession is the SDK's model of a game session, as the probe prints it.
type gameSession struct {
	GameSessionId, Name, FleetId, IpAddress, GameSessionData string
	MaximumPlayerSessionCount, Port                          int
	GameProperties                                           map[string]string
}

// TestLife uses every call of the SDK in the course of one game session.
func TestLife(t *testing.T) {
	m := startMuster(t)
	fleetID, env := m.fleet()
	p := readyProbe(t, env)
	made := m.create(fleetID)
	var told gameSession
	p.event("start", &told)
	if told.GameSessionId != made.GameSessionId || told.Port != 7777 || told.Name != "demo" || told.FleetId != fleetID ||
		told.MaximumPlayerSessionCount != 4 || told.GameProperties["map"] != "winter" || told.GameSessionData != `{"seed":1}` {
		t.Errorf("the SDK was told %+v", told)
	}
	m.until(made.GameSessionId, "ACTIVATING")
	p.do(nil, "activate")
	m.until(made.GameSessionId, "ACTIVE")

	players := m.reserve(made.GameSessionId, "ann", "bob", "cid")
	p.do(nil, "accept", players[0])
	p.do(nil, "accept", players[1])
	p.refused("must be RESERVED", "accept", players[0])
	p.refused("does not exist", "accept", "psess-unknown")
	p.do(nil, "remove", players[1])
	var page []struct {
		PlayerId, PlayerSessionId, Status string
		CreationTime, TerminationTime     int64
	}
	p.do(&page, "describe", made.GameSessionId, "ACTIVE", "1")
	if len(page) != 1 || page[0].PlayerId != "ann" || page[0].CreationTime == 0 || page[0].TerminationTime != 0 {
		t.Errorf("ACTIVE player sessions: %+v", page)
	}
	p.do(&page, "describe", made.GameSessionId)
	if len(page) != 3 {
		t.Errorf("all player sessions: %+v", page)
	}
	p.do(nil, "policy", "DENY_ALL")
	if _, err := m.try("CreatePlayerSession", object{"GameSessionId": made.GameSessionId, "PlayerId": "dan"}, nil); err == nil || !strings.Contains(err.Error(), "DENY_ALL") {
		t.Errorf("a player joins a closed game session: %v", err)
	}
	var certificate struct{ CertificatePath, ComputeName string }
	p.do(&certificate, "certificate")
	if certificate.CertificatePath != "/certs/c.pem" || certificate.ComputeName != computeName {
		t.Errorf("certificate %+v", certificate)
	}
	p.refused("", "credentials") // the SDK itself returns an error on a host that is not managed
	const configuration = "arn:aws:gamelift:us-east-1:000000000000:matchmakingconfiguration/mm"
	p.refused("does not exist", "backfill", made.GameSessionId, configuration, "ann:red")
	p.refused("has no backfill ticket", "stopbackfill", made.GameSessionId, configuration, "ticket-1")
	m.call("TerminateGameSession", object{"GameSessionId": made.GameSessionId, "TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE"}, nil)
	p.event("terminate", nil) // OnProcessTerminate was called
	m.until(made.GameSessionId, "TERMINATING")
	p.do(nil, "end")
	m.until(made.GameSessionId, "TERMINATED")
}

// TestUnhealthy: three unhealthy reports end a process.
func TestUnhealthy(t *testing.T) {
	m := startMuster(t)
	_, env := m.fleet()
	env["HEALTHCHECK_INTERVAL"], env["HEALTHCHECK_MAX_JITTER"], env["HEALTHCHECK_TIMEOUT"] = "300ms", "1ms", "200ms"
	p := startProbe(t, env)
	p.do(nil, "init")
	p.do(nil, "healthy", "false")
	p.do(nil, "ready", "7777")
	p.event("terminate", nil)
}

// TestKill: the server is killed or stopped, and started again; the game continues, and
// everything acknowledged before is kept.
func TestKill(t *testing.T) {
	for name, how := range map[string]syscall.Signal{"SIGKILL": syscall.SIGKILL, "SIGTERM": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := startMuster(t)
			fleetID, env := m.fleet()
			env["HEALTHCHECK_INTERVAL"], env["HEALTHCHECK_MAX_JITTER"], env["HEALTHCHECK_TIMEOUT"] = "1s", "1ms", "500ms"
			env["RETRY_INTERVAL"] = "1s"
			p := readyProbe(t, env)
			made := m.create(fleetID)
			p.event("start", nil)
			p.do(nil, "activate")
			players := m.reserve(made.GameSessionId, "ann", "bob")
			p.do(nil, "accept", players[0])
			m.stop(how)
			m.start(strings.TrimPrefix(m.base, "http://"))
			m.until(made.GameSessionId, "ACTIVE")
			p.event("health", nil)
			p.refused("must be RESERVED", "accept", players[0])
			p.do(nil, "accept", players[1])
			p.do(nil, "end")
			m.until(made.GameSessionId, "TERMINATED")
		})
	}
}

// TestTLS: the same port speaks TLS, with a certificate in the data directory that
// clients can trust.
func TestTLS(t *testing.T) {
	m := startMuster(t)
	fleetID, env := m.fleet()
	env["GAMELIFT_SDK_WEBSOCKET_URL"] = "wss" + strings.TrimPrefix(env["GAMELIFT_SDK_WEBSOCKET_URL"], "ws")
	env["SSL_CERT_FILE"] = filepath.Join(m.data, "server-cert.pem")
	p := readyProbe(t, env)
	m.create(fleetID)
	p.event("start", nil)
	p.do(nil, "end")
}

// TestManyProcesses: processes that start concurrently get one game session each.
func TestManyProcesses(t *testing.T) {
	m := startMuster(t)
	fleetID, env := m.fleet()
	var probes []*probe
	for _, id := range []string{"a", "b", "c"} {
		own := maps.Clone(env)
		own["GAMELIFT_SDK_PROCESS_ID"] = id
		probes = append(probes, readyProbe(t, own))
	}
	told := map[string]bool{}
	for range probes {
		m.create(fleetID)
	}
	for _, p := range probes {
		var g gameSession
		p.event("start", &g)
		if told[g.GameSessionId] {
			t.Errorf("game session %s was given to two processes", g.GameSessionId)
		}
		told[g.GameSessionId] = true
		p.do(nil, "end")
	}
}

// TestEndedProcessID: the id of an ended process cannot be used by another. (The SDK
// retries for three minutes; its first refusal is enough here.)
func TestEndedProcessID(t *testing.T) {
	m := startMuster(t)
	_, env := m.fleet()
	p := readyProbe(t, env)
	p.do(nil, "end")
	again := startProbe(t, env)
	again.tell("init")
	if !again.log.await(`Response body is: {"message":"Forbidden"}`) {
		t.Error("the second process was not refused")
	}
}

// TestSigV4: a process that signs with an access key needs no token. A wrong secret is
// refused.
func TestSigV4(t *testing.T) {
	m := startMuster(t)
	fleetID, env := m.fleet()
	m.stop(syscall.SIGTERM)
	m.mode = "serve"
	m.start(strings.TrimPrefix(m.base, "http://"))
	key := m.firstKey()
	delete(env, "GAMELIFT_SDK_AUTH_TOKEN")
	env["GAMELIFT_REGION"], env["GAMELIFT_ACCESS_KEY"], env["GAMELIFT_SECRET_KEY"] = "us-east-1", key.id, key.secret
	p := readyProbe(t, env)

	wrong := maps.Clone(env)
	wrong["GAMELIFT_SECRET_KEY"], wrong["GAMELIFT_SDK_PROCESS_ID"] = "wrong", "process-2"
	other := startProbe(t, wrong)
	other.tell("init")
	if !other.log.await(`Response body is: {"message":"Forbidden"}`) {
		t.Error("a wrong signature was not refused")
	}

	m.stop(syscall.SIGTERM)
	m.mode = "local"
	m.start(strings.TrimPrefix(m.base, "http://"))
	m.create(fleetID)
	p.event("start", nil)
}
