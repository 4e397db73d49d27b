package store

import "context"

type actorKey struct{}

// WithActor returns a context whose commands are attributed to actor, for audit. The
// actor is recorded and replayed with the commands.
func WithActor(ctx context.Context, actor string) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

func actorOf(ctx context.Context) string {
	actor, _ := ctx.Value(actorKey{}).(string)
	return actor
}

type yieldKey struct{}

// WithYield marks the commands called with the context as the first to be refused
// when many wait for durability, which keeps room for other commands.
func WithYield(ctx context.Context) context.Context {
	return context.WithValue(ctx, yieldKey{}, true)
}

// Yields reports whether WithYield marked the context.
func Yields(ctx context.Context) bool {
	yields, _ := ctx.Value(yieldKey{}).(bool)
	return yields
}

// Actor returns the actor set by WithActor; "" is the product itself.
func (tx *Tx) Actor() string { return tx.call.actor }
