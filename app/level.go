package app

import (
	"cmp"
	"context"

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

// raiseLevel raises the cell's feature level whenever all its nodes know a higher one, until
// ctx ends.
func (r *replica) raiseLevel(ctx context.Context) {
	for {
		agreed, changed := r.member.keeper.Agreed()
		if err := r.domain.store.Raise(ctx, agreed); err != nil && ctx.Err() == nil {
			r.log.Error("the feature level stays until another node owns the cell", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}
