package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/backend"
	"github.com/musterhq/muster/fleet/price"
	"github.com/musterhq/muster/notify"
)

// Files are the options that come from files and can change while the app runs.
type Files struct {
	Players backend.Config
	Sinks   []notify.SinkConfig
	// AuditSinkSecret is as in Options.
	AuditSinkSecret string
	// OIDCSecret is the ClientSecret of Options.OIDC.
	OIDCSecret string
	// Prices are as in Options.
	Prices price.List
}

// reloads records the outcome of reloads, for the metrics.
type reloads struct{ fine *prometheus.GaugeVec }

// What can be reloaded.
var reloaded = []string{"certificate", "players", "sinks", "audit-sink", "oidc", "prices"}

func newReloads(r prometheus.Registerer) *reloads {
	m := &reloads{prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "muster_reload_successful", Help: "Whether what a file said when it was read last is in use: 1, or what it said before: 0.",
	}, []string{"file"})}
	r.MustRegister(m.fine)
	for _, what := range reloaded {
		m.fine.WithLabelValues(what).Set(1)
	}
	return m
}

// note records the outcome of a reload.
func (m *reloads) note(what string, err error) error {
	value := 1.0
	if err != nil {
		value, err = 0, fmt.Errorf("%s: %w", what, err)
	}
	m.fine.WithLabelValues(what).Set(value)
	return err
}

// Reload reads the certificate, the players file, the sinks with their secrets, the prices,
// and the secret for the identity provider again.
// What is invalid stays as it was; the error is logged and returned. The rest takes effect.
func (a *App) Reload(ctx context.Context) error {
	certificate := a.reloads.note("certificate", a.site.certificate.reload())
	files := a.reloadFiles(ctx)
	if err := errors.Join(certificate, files); err != nil {
		a.log.Error("not all is reloaded; what is wrong stays as it was", "error", err)
		return err
	}
	a.log.Info("reloaded", "files", reloaded)
	return nil
}

func (a *App) reloadFiles(ctx context.Context) error {
	if a.opts.Reread == nil {
		return nil
	}
	files, err := a.opts.Reread()
	if err != nil {
		return errors.Join(a.reloads.note("players", err), a.reloads.note("sinks", err), a.reloads.note("audit-sink", err), a.reloads.note("oidc", err), a.reloads.note("prices", err))
	}
	files.Players.Open = a.opts.AcceptAny
	prices := files.Prices.Check() // nil: they are in use from now on
	var players, sinks, audits []error
	for _, g := range a.regions {
		d := g.now.Load().domain
		if d.oidc != nil {
			d.oidc.SetSecret(files.OIDCSecret)
		}
		if prices == nil {
			d.prices.Store(&files.Prices)
		}
		players = append(players, d.players.Reload(files.Players, d.identity, d.lobby))
		sinks = append(sinks, d.notices.Reload(ctx, files.Sinks))
		audits = append(audits, d.signAudit(files.AuditSinkSecret))
	}
	err = errors.Join(
		a.reloads.note("players", errors.Join(players...)),
		a.reloads.note("sinks", errors.Join(sinks...)),
		a.reloads.note("audit-sink", errors.Join(audits...)),
		a.reloads.note("oidc", nil),
		a.reloads.note("prices", prices),
	)
	if err == nil { // for replicas to come
		a.settings.Lock()
		defer a.settings.Unlock()
		a.opts.Players, a.opts.Sinks, a.opts.AuditSinkSecret, a.opts.OIDC.ClientSecret, a.opts.Prices = files.Players, files.Sinks, files.AuditSinkSecret, files.OIDCSecret, files.Prices
	}
	return err
}
