package app

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/internal/feature"
)

// level returns the highest feature level to which this node lets its cell be raised.
func (o *Options) level() feature.Level {
	return cmp.Or(feature.Level(o.FeatureLevel), feature.Known())
}

// measureLevel registers the gauges of feature levels.
func (r *replica) measureLevel(metrics prometheus.Registerer) {
	gauge := func(name, help string, value func() feature.Level) {
		metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) }))
	}
	gauge("muster_cell_feature_level", "Feature level of the cell: what its stored state may contain.", func() feature.Level {
		if r.member.joined() {
			return r.member.keeper.Level()
		}
		return r.domain.store.Level()
	})
	gauge("muster_feature_level_known", "The highest feature level that this program knows.", feature.Known)
}

// raiseAgain is how long after an error, which an operator may have to mend, raising the feature
// level is tried again.
const raiseAgain = time.Minute

// raiseLevel raises the cell's feature level whenever all its nodes know a higher one, until
// ctx ends.
func (r *replica) raiseLevel(ctx context.Context) {
	keepRaising(ctx, r.log, r.member.keeper.Agreed, r.raise)
}

// raise raises the cell's feature level, of the lease first: from then on, nodes that do not know
// it stand aside.
func (r *replica) raise(ctx context.Context, level feature.Level) error {
	if err := r.member.keeper.Raise(ctx, level); err != nil {
		return fmt.Errorf("raise the feature level of the lease to %d: %w", level, err)
	}
	return r.domain.store.Raise(ctx, level)
}

// keepRaising raises the feature level to each that is agreed. After an error it tries again.
func keepRaising(ctx context.Context, log *slog.Logger, agreed func() (feature.Level, <-chan struct{}), raise func(context.Context, feature.Level) error) {
	for {
		level, changed := agreed()
		var again <-chan time.Time
		if err := raise(ctx, level); err != nil && ctx.Err() == nil {
			log.Error("the feature level stays as it is, trying again", "pause", raiseAgain, "error", err)
			again = time.After(raiseAgain)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-again:
		}
	}
}
