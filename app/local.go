package app

import (
	"cmp"
	"context"
	"io"
	"sync"

	"github.com/musterhq/muster/app/demo"
	"github.com/musterhq/muster/app/host"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/sniff"
)

// local is what runs in the server's process but could run beside it: the demo and the
// host of this process. It is started last and stopped first.
type local struct {
	runs []func(context.Context) // of the demo and the host, if they are configured

	mu     sync.Mutex
	cancel context.CancelFunc // nil before start
	over   bool               // stop was called
	ended  sync.WaitGroup
}

// open creates the demo and the host, if they are configured. The host, which runs the
// demo's processes too, is registered as their launcher.
func (l *local) open(r *replica) {
	d, at := r.domain, r.node.site
	var hosted host.Options
	if r.opts.Host != nil {
		hosted = *r.opts.Host
	}
	places := d.places(cmp.Or(hosted.IP, host.Loopback), hosted.IPv6, r.opts.localLocation())
	if o := r.opts.Demo; o != nil {
		g := demo.New(*o, demo.Services{
			Places: places, Store: d.store, Events: d.events, Sessions: d.sessions,
			Dir: r.opts.regional("demo"), URL: at.base, Login: r.opts.login(), Out: r.opts.Out, Logger: r.log, Started: r.node.begun,
		})
		hosted.Exec = g.Program()
		if r.opts.isHome() { // elsewhere there are its game servers alone
			l.runs = append(l.runs, g.Run)
		}
	}
	if hosted.Exec == nil && !hosted.Managed {
		return
	}
	h := host.New(hosted, host.Services{
		Places: places,
		Dir:    r.opts.regional("agent"), URL: r.opts.endpoint(at.base), GameServerURL: at.gameServers(r.opts), Login: r.opts.login(),
		TLS:    at.ownTLS(),
		Region: r.opts.Region, Out: r.opts.Out, Logger: r.log, Tracer: d.tracer,
		StoreLogs: func(ctx context.Context, of compute.Ref, gameSessionID string, archive io.Reader) error {
			return d.tails.hosts.StoreLogs(ctx, of, gameSessionID, archive)
		},
		JoinToken: func(ctx context.Context) (string, error) {
			token, _, err := d.instances.CreateJoinToken(ctx, instance.JoinTokenInput{Location: r.opts.Region})
			return token, err
		},
	})
	d.instances.AddLauncher(h)
	d.tails.local = h
	l.runs = append(l.runs, h.Run)
}

// localLocation returns the location of the programs of this machine.
func (o *Options) localLocation() string {
	if o.isHome() {
		return host.Location
	}
	return host.LocationIn(o.Region)
}

// places returns the Places in a location for programs of this machine, which has IP addresses
// for players.
func (d *domain) places(ip, ipv6, location string) host.Places {
	return host.Places{Store: d.store, Fleets: d.fleets, Computes: d.computes, Placements: d.placements, Matches: d.matches, IP: ip, IPv6: ipv6, Location: location}
}

// login returns what to export before the printed commands.
func (o *Options) login() string {
	key := "AWS_SHARED_CREDENTIALS_FILE=" + o.absolute(firstKeyFile)
	if o.AcceptAny {
		key = "AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any"
	}
	trusted := ""
	if o.TLSSelfSigned {
		trusted = " AWS_CA_BUNDLE=" + o.absolute(sniff.CertificateFile)
	}
	return "export " + key + " AWS_DEFAULT_REGION=" + o.Region + trusted
}

// start runs the demo and the host until stop.
func (l *local) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.cancel != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	for _, run := range l.runs {
		l.ended.Go(func() { run(ctx) })
	}
}

// stop ends both, processes included, and waits for that.
func (l *local) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	if l.cancel != nil {
		l.cancel()
		l.ended.Wait()
	}
}
