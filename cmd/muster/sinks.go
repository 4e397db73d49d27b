package main

import (
	"log/slog"
	"slices"

	"github.com/musterhq/muster/notify"
)

// sinks returns the sinks of --sinks and --notify-url.
func (f *serverFlags) sinks(log *slog.Logger) ([]notify.SinkConfig, error) {
	sinks, err := readYAML[[]notify.SinkConfig]("sinks", f.Sinks)
	if slices.ContainsFunc(sinks, func(s notify.SinkConfig) bool { return len(s.Secrets) > 0 }) {
		warnOfOthers(log, "sinks", f.Sinks)
	}
	if err != nil || f.NotifyURL == "" {
		return sinks, err
	}
	url := notify.SinkConfig{Name: "notify-url", Kind: notify.Webhook, URL: f.NotifyURL, Topics: []string{notify.Everything}}
	signs, err := secret{"notify-secret", f.NotifySecret, f.NotifyFile}.read(log)
	if err != nil {
		return nil, err
	}
	if signs != "" {
		url.Secrets = []string{signs}
	}
	return append(sinks, url), nil
}
