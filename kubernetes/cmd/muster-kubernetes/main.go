// Command muster-kubernetes joins a Kubernetes cluster to Muster as if it were one large
// machine, and runs its container fleets as pods. docs/kubernetes.md explains it.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/musterhq/muster/kubernetes/cluster"
)

func main() {
	var f flags
	parser, err := kong.New(&f, kong.Name("muster-kubernetes"), kong.DefaultEnvars("MUSTER"),
		kong.Description("Joins a Kubernetes cluster to Muster, and runs its container fleets as pods."))
	if err != nil {
		panic(err) // the flags are a constant
	}
	if _, err := parser.Parse(os.Args[1:]); err != nil {
		parser.FatalIfErrorf(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err = f.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "muster-kubernetes:", err)
		os.Exit(1)
	}
}

// run works until ctx ends.
func (f *flags) run(ctx context.Context) error {
	log := f.logger()
	klog.SetSlogLogger(log) // of Kubernetes' own packages
	api, namespace, err := f.api()
	if err != nil {
		return err
	}
	o, err := f.options(ctx, api, namespace, log)
	if err != nil {
		return err
	}
	c, err := cluster.New(o)
	if err != nil {
		return err
	}
	stop, err := f.listen(log)
	if err != nil {
		return err
	}
	defer stop()
	if !f.LeaderElect {
		return c.Run(ctx)
	}
	return f.lead(ctx, api, namespace, log, c.Run)
}

// Times of the Lease. The end of a leader that does not say so is noticed late, since game
// servers do not depend on it, and an API server that is away for a while must not end it.
const (
	leaseFor  = 60 * time.Second
	renewFor  = 45 * time.Second
	renewEach = 5 * time.Second
)

// errDeposed means that the Lease could not be renewed.
var errDeposed = errors.New("the Lease was lost: another replica may lead now; this one starts anew")

// lead runs work while this replica holds the Lease.
func (f *flags) lead(ctx context.Context, api *rest.Config, namespace string, log *slog.Logger, work func(context.Context) error) error {
	name, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name of this replica: %w", err)
	}
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, namespace, f.Name, resourcelock.ResourceLockConfig{Identity: name}, api, renewFor)
	if err != nil {
		return fmt.Errorf("lease: %w", err)
	}
	asked := ctx // ends when this replica is told to end
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var ended error
	var working sync.Mutex
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: leaseFor, RenewDeadline: renewFor, RetryPeriod: renewEach, ReleaseOnCancel: true, Name: f.Name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				working.Lock()
				defer working.Unlock()
				log.Info("this replica leads")
				ended = work(ctx)
				cancel()
			},
			OnStoppedLeading: func() {},
			OnNewLeader:      func(id string) { log.Info("the leader is known", "leader", id) },
		},
	})
	working.Lock() // until the work has ended
	defer working.Unlock()
	return outcome(asked, ended)
}

// outcome returns why a replica that led has ended: work ends without an error also where the
// Lease is lost, and then the replica must not look as if it had been told to end.
func outcome(asked context.Context, ended error) error {
	if ended == nil && asked.Err() == nil {
		return errDeposed
	}
	return ended
}

// listen serves probes of liveness.
func (f *flags) listen(log *slog.Logger) (stop func(), err error) {
	if f.Listen == "" {
		return func() {}, nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	server := &http.Server{Addr: f.Listen, Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	select {
	case err := <-failed:
		return nil, fmt.Errorf("listen: %w", err)
	case <-time.After(50 * time.Millisecond):
	}
	return func() {
		if err := server.Close(); err != nil {
			log.Warn("the listener of probes is not closed", "error", err)
		}
	}, nil
}
