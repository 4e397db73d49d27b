package app

// raiseFileLimit has nothing to do: Windows has no such limit on sockets.
func raiseFileLimit(log *slog.Logger) {}

// fileLimit returns 0: Windows has no such limit on sockets.
func fileLimit() int { return 0 }
