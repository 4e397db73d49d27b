package app

import (
	"net/http"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/notify"
)

// notices returns how events are delivered outside. The parts of the app that it uses
// exist only once the app has started.
func (a *App) notices() notify.Options {
	return notify.Options{
		Sinks: a.opts.Sinks, Home: a.opts.home(), KeyFile: a.opts.file("notify.pem"),
		BaseURL: func() string { return a.base },
		Allow: func(r *http.Request, action auth.Action, resources ...string) (auth.Caller, error) {
			return a.callers.allow(r, action, resources...)
		},
		Logger:     a.log,
		Registerer: a.registry,
	}
}
