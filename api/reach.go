package api

import (
	"context"
	"iter"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/awsrpc"
)

// scoped returns the caller of a request, and reports whether it has a scope.
func scoped(ctx context.Context) (auth.Caller, bool) {
	caller, known := awsrpc.Caller(ctx).Identity.(auth.Caller)
	return caller, known && caller.Scoped()
}

// reached returns the items of a list that are in the caller's scope; resource returns
// the ARN of an item. It must be applied before paging: then pages are full, and
// neither their number nor NextToken reveals that items were omitted.
func reached[T any](ctx context.Context, all iter.Seq[T], resource func(T) string) iter.Seq[T] {
	caller, some := scoped(ctx)
	if !some {
		return all
	}
	return filtered(all, func(item T) bool { return caller.Reaches(resource(item)) })
}

// filtered returns the items for which fits returns true.
func filtered[T any](all iter.Seq[T], fits func(T) bool) iter.Seq[T] {
	return func(yield func(T) bool) {
		for item := range all {
			if fits(item) && !yield(item) {
				return
			}
		}
	}
}

// places returns a function that reports whether the caller is shown what a fleet in
// its scope has in a location. It returns nil if all locations are shown.
func (h handlers) places(ctx context.Context) func(location string) bool {
	caller, some := scoped(ctx)
	if !some {
		return nil
	}
	return func(location string) bool { return caller.ReachesBeside(h.Home.Of("location", location)) }
}

// games returns a function that reports whether a game session is in the caller's
// scope, by its fleet and its location. It returns nil if all are.
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
