package main

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/internal/limit"
)

// readLimits parses the values of --limits: NAME=RATE.
func readLimits(texts []string) (map[string]limit.Rate, error) {
	limits := map[string]limit.Rate{}
	for _, text := range texts {
		name, rate, ok := strings.Cut(text, "=")
		name = strings.TrimSpace(name)
		if _, twice := limits[name]; !ok || name == "" || twice {
			return nil, fmt.Errorf("limits: %q is not NAME=RATE with a name of its own, such as game-backend=2000 or joins=10:100", text)
		}
		r, err := limit.Parse(strings.TrimSpace(rate))
		if err != nil {
			return nil, fmt.Errorf("limits: %s: %w", name, err)
		}
		limits[name] = r
	}
	return limits, nil
}
