package app

// DataDir gives tests the data directory.
func (a *App) DataDir() string { return a.opts.DataDir }
