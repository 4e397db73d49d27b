package gameserver

import "context"

// call runs one of the SDK's blocking calls on its own goroutine and waits until it
// returns or ctx ends. A result that comes after that goes to late, which may be nil.
func call[T any](ctx context.Context, f func() (T, error), late func(T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome)
	go func() {
		value, err := f()
		select {
		case done <- outcome{value, err}:
		case <-ctx.Done():
			if late != nil {
				late(value, err)
			}
		}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// call0 is call for functions that return only an error; late runs after a success.
func call0(ctx context.Context, f func() error, late func()) error {
	_, err := call(ctx, func() (struct{}, error) { return struct{}{}, f() }, func(_ struct{}, err error) {
		if err == nil && late != nil {
			late()
		}
	})
	return err
}
