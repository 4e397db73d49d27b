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

// Actor is who called the command, as WithActor said; "" is the product itself.
func (tx *Tx) Actor() string { return tx.actor }
