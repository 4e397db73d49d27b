//go:build !linux

package isolate

// confine fails where an order asks for what this system has no means for.
func (o *order) confine() error {
	if o.User != 0 || o.Filter || o.Apart || len(o.Mounts) > 0 || len(o.Hide) > 0 {
		return ErrUnavailable
	}
	return nil
}

func reach([]string) error { return ErrUnavailable }
