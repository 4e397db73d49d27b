package app

// raiseFileLimit has nothing to do: Windows has no such limit on sockets.
func (a *App) raiseFileLimit() {}
