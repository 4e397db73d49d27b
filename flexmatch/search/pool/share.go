package pool

// Workers returns how many goroutines a Pass could use at most, at least one.
func (p *Pool) Workers() int {
	if p.rules.Set.Large || len(p.items) < sideBySide {
		return 1
	}
	return max(1, min(p.limits.Workers, len(p.partitions)))
}

// SetWorkers makes the passes that follow use at most n goroutines, and at most Limits.Workers.
func (p *Pool) SetWorkers(n int) { p.atOnce = n }

// Exhaustive reports whether a Pass would search exhaustively, as in small pools, unless the last one
// was ended by its bounds.
func (p *Pool) Exhaustive() bool {
	return !p.rules.Set.Large && len(p.items) <= p.limits.Exact && !p.deferred
}
