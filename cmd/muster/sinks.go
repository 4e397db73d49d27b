package main

import (
	"bytes"
	"fmt"
	"os"

	"go.yaml.in/yaml/v4"

	"github.com/musterhq/muster/notify"
)

// sinks gives the sinks of --sinks and --notify-url.
func (f *serverFlags) sinks() ([]notify.SinkConfig, error) {
	sinks, err := readSinks(f.Sinks)
	if err != nil || f.NotifyURL == "" {
		return sinks, err
	}
	url := notify.SinkConfig{Name: "notify-url", Kind: notify.Webhook, URL: f.NotifyURL, Topics: []string{notify.Everything}}
	if f.NotifySecret != "" {
		url.Secrets = []string{f.NotifySecret}
	}
	return append(sinks, url), nil
}

// readSinks reads a list of sinks; a field that sinks do not have is refused.
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
