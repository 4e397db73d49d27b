package main

import (
	"bytes"
	"fmt"
	"os"

	"go.yaml.in/yaml/v4"

	"github.com/musterhq/muster/backend"
)

// readPlayers reads the configuration of the player backend. It refuses unknown fields.
func readPlayers(file string) (backend.Config, error) {
	var c backend.Config
	if file == "" {
		return c, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return c, fmt.Errorf("players: %w", err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&c); err != nil {
		return c, fmt.Errorf("players: %s: %w", file, err)
	}
	return c, nil
}
