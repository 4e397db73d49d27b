package group

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/musterhq/muster/agent/ports"
)

// DiscoveryPort is the port on which containers expect the endpoint, where it is free.
const DiscoveryPort = 4092

// perSecond is how many requests the containers of a group may send, as on AWS.
const perSecond = 10

// Discovery is the HTTP endpoint at which a container asks for the containers of its
// instance. Each run of a group has a key, which is part of the URL that its containers
// are given: no other container or program can ask.
type Discovery struct {
	listener net.Listener
	server   *http.Server

	mu   sync.Mutex
	keys map[string]*asker // by key
}

// asker is a run of a group, whose containers may ask.
type asker struct {
	processID string
	i         *Instance
	limit     *rate.Limiter
	shown     chan struct{} // closed when the instance shows the run's containers
}

// ListenDiscovery opens the endpoint on an address that containers reach, on the usual port
// if it is free.
func ListenDiscovery(on netip.Addr, log *slog.Logger) (*Discovery, error) {
	l, err := ports.Listen(netip.AddrPortFrom(on, DiscoveryPort).String())
	if err != nil {
		l, err = ports.Listen(netip.AddrPortFrom(on, 0).String())
	}
	if err != nil {
		return nil, fmt.Errorf("serve discovery: %w", err)
	}
	d := &Discovery{listener: l, keys: map[string]*asker{}}
	d.server = &http.Server{Handler: d, ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	go d.server.Serve(l)
	return d, nil
}

// Close closes the endpoint.
func (d *Discovery) Close() error { return d.server.Close() }

// URL returns the URL for the containers of a run.
func (d *Discovery) URL(key string) string {
	return fmt.Sprintf("http://%s/%s", d.listener.Addr(), key)
}

func newKey() string {
	b := make([]byte, 16)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// admit lets the containers of a run ask.
func (d *Discovery) admit(key, processID string, i *Instance) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.keys[key] = &asker{processID, i, rate.NewLimiter(perSecond, perSecond), make(chan struct{})}
}

// shown answers the containers of runs that asked before their instance showed them.
func (d *Discovery) shown(processIDs map[string]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.keys {
		if processIDs[a.processID] && !isClosed(a.shown) {
			close(a.shown)
		}
	}
}

// forget ends what a run may ask.
func (d *Discovery) forget(processID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, a := range d.keys {
		if a.processID == processID {
			delete(d.keys, key)
		}
	}
}

// neighbor is a container in a response; the names are AWS's.
type neighbor struct {
	ContainerName string `json:"containerName"`
	ContainerID   string `json:"containerId"`
	IPAddress     string `json:"ipAddress"`
	GroupType     string `json:"containerGroupType"`
}

// ServeHTTP answers GET /KEY/v1/ with the running containers of the instance.
func (d *Discovery) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	d.mu.Lock()
	a := d.keys[key]
	d.mu.Unlock()
	switch {
	case a == nil, strings.TrimSuffix(path, "/") != "v1":
		refuse(w, http.StatusNotFound, "no container has this address")
	case r.Method != http.MethodGet:
		w.Header().Set("Allow", http.MethodGet)
		refuse(w, http.StatusMethodNotAllowed, "only GET is served")
	case !a.limit.Allow():
		refuse(w, http.StatusTooManyRequests, fmt.Sprintf("the containers of a group may ask %d times a second", perSecond))
	default:
		a.await(r.Context())
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(a.i.neighbors())
	}
}

// startWaits bounds how long a container waits for an answer that includes itself: it may
// ask before the engine has said that it runs.
const startWaits = 5 * time.Second

// await waits until the instance shows the run's containers.
func (a *asker) await(ctx context.Context) {
	late := time.NewTimer(startWaits)
	defer late.Stop()
	select {
	case <-a.shown:
	case <-late.C:
	case <-ctx.Done():
	}
}

func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"message": message})
}

// neighbors returns the running containers of the instance.
func (i *Instance) neighbors() []neighbor {
	all := []neighbor{}
	v := i.seen.Load()
	for _, g := range i.Report().Groups {
		kind := "GAME_SERVER"
		if v.beside[g.Name] {
			kind = "PER_INSTANCE"
		}
		for _, c := range g.Containers {
			if c.Running {
				all = append(all, neighbor{c.Name, c.RuntimeID, c.IPAddress, kind})
			}
		}
	}
	return all
}
