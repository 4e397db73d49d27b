//go:build !linux

package isolate

// confine fails if an order requests what this system does not support.
func (o *order) confine() error {
	if o.User != 0 || o.Filter || o.Apart || len(o.Mounts) > 0 || len(o.Hide) > 0 || o.Game != "" {
		return ErrUnavailable
	}
	return nil
}

func reach([]string) error { return ErrUnavailable }
