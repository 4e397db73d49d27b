package store

import "context"

type actorKey struct{}

// WithActor says who acts in commands called with the context, for audit. It is
// recorded and replayed with them.
func WithActor(ctx context.Context, actor string) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

func actorOf(ctx context.Context) string {
	actor, _ := ctx.Value(actorKey{}).(string)
	return actor
}

type yieldKey struct{}

// WithYield marks the commands called with the context as the first to be refused
// when many wait for durability, so that there is room for those of others.
func WithYield(ctx context.Context) context.Context {
	return context.WithValue(ctx, yieldKey{}, true)
}

// Yields reports whether WithYield marked the context.
func Yields(ctx context.Context) bool {
	yields, _ := ctx.Value(yieldKey{}).(bool)
	return yields
}

// Actor is who called the command, as WithActor said; "" is the product itself.
func (tx *Tx) Actor() string { return tx.actor }
