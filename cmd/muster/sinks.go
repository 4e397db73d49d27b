package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/musterhq/muster/notify"
)

// sinks returns the sinks of --sinks and --notify-url.
func (f *serverFlags) sinks(log *slog.Logger) ([]notify.SinkConfig, error) {
	sinks, err := readSinks(f.Sinks)
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

// readSinks reads a list of sinks. It refuses unknown fields.
func readSinks(file string) ([]notify.SinkConfig, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("sinks: %w", err)
	}
	var sinks []notify.SinkConfig
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&sinks); err != nil {
		return nil, fmt.Errorf("sinks: %s: %w", file, err)
	}
	return sinks, nil
}
