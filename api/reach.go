package api

import (
	"context"
	"iter"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/awsrpc"
)

// scoped returns the caller of a request, and whether a scope holds it to some
// resources.
func scoped(ctx context.Context) (auth.Caller, bool) {
	caller, known := awsrpc.Caller(ctx).Identity.(auth.Caller)
	return caller, known && caller.Scoped()
}

// reached returns the items of a list that the caller reaches; resource returns the
// ARN of an item. It comes before paging: pages are full, and neither their number
// nor NextToken says anything of what is left out.
func reached[T any](ctx context.Context, all iter.Seq[T], resource func(T) string) iter.Seq[T] {
	caller, some := scoped(ctx)
	if !some {
		return all
	}
	return filtered(all, func(item T) bool { return caller.Reaches(resource(item)) })
}

// filtered returns the items that fit.
func filtered[T any](all iter.Seq[T], fits func(T) bool) iter.Seq[T] {
	return func(yield func(T) bool) {
		for item := range all {
			if fits(item) && !yield(item) {
				return
			}
		}
	}
}

// places reports of a location whether the caller is shown what is in it of a
// fleet that the caller reaches. It is nil where all locations are shown.
func (h handlers) places(ctx context.Context) func(location string) bool {
	caller, some := scoped(ctx)
	if !some {
		return nil
	}
	return func(location string) bool { return caller.ReachesBeside(h.Home.Of("location", location)) }
}

// games reports of a game session whether the caller reaches it, by its fleet and
// its location. It is nil where the caller reaches all.
func (h handlers) games(ctx context.Context) func(gameSessionID string) bool {
	caller, some := scoped(ctx)
	if !some {
		return nil
	}
	places := h.places(ctx)
	return func(id string) bool {
		return caller.Reaches(h.Home.Of("fleet", arn.SessionFleet(id))) && places(arn.SessionLocation(id))
	}
}
