package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v4"
)

// config is a configuration file: each field has the name of its flag, without the leading
// dashes. A flag takes precedence over its MUSTER_… variable, and that over the file.
type config map[string]any

// readConfig reads a configuration file (YAML).
func readConfig(r io.Reader) (kong.Resolver, error) {
	c := config{}
	if err := yaml.NewDecoder(r).Decode(&c); err != nil && err != io.EOF {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return c, nil
}

// Validate refuses fields that no command has.
func (c config) Validate(app *kong.Application) error {
	var known []string
	err := kong.Visit(app, func(n kong.Visitable, next kong.Next) error {
		if f, ok := n.(*kong.Flag); ok {
			known = append(known, f.Name)
		}
		return next(nil)
	})
	for name := range c {
		if !slices.Contains(known, name) {
			return fmt.Errorf("configuration: there is no field %q", name)
		}
	}
	return err
}

// Resolve returns a flag's value from the file, unless the environment has one.
func (c config) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range flag.Envs {
		if _, ok := os.LookupEnv(name); ok {
			return nil, nil
		}
	}
	value, ok := c[flag.Name]
	if !ok {
		return nil, nil
	}
	switch value := value.(type) {
	case []any:
		return joined(value), nil
	case config:
		if flag.Name == "oidc-rules" {
			return nil, fmt.Errorf("oidc-rules: must be a list, such as [platform-team=admin, %s]: the first rule that fits decides, and the fields of a map have no order", `"*=read-only"`)
		}
		return pairs(value), nil
	}
	return fmt.Sprint(value), nil
}

// pairs returns a map in the form for flags: NAME=VALUE,…
func pairs(m config) string {
	var all []any
	for _, name := range slices.Sorted(maps.Keys(m)) {
		all = append(all, name+"="+fmt.Sprint(m[name]))
	}
	return joined(all)
}

func joined(list []any) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = fmt.Sprint(v)
	}
	return kong.JoinEscaped(parts, ',')
}
