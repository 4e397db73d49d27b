package engine

// ownLimits returns none: an engine on Windows runs containers in another machine.
func ownLimits() []ulimit { return nil }
