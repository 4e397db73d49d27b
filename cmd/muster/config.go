package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v4"

	"github.com/musterhq/muster/internal/nearest"
	"github.com/musterhq/muster/internal/yamlfile"
)

// config is a configuration file: each field has the name of its flag, without the leading
// dashes. A flag takes precedence over its MUSTER_… variable, and that over the file.
type config struct {
	file   string
	fields []yamlfile.Entry
}

// readConfig reads a configuration file (YAML).
func readConfig(r io.Reader) (kong.Resolver, error) {
	c := &config{file: "configuration"}
	if f, ok := r.(*os.File); ok {
		c.file = f.Name()
	}
	text, err := io.ReadAll(r)
	if err == nil {
		c.fields, err = yamlfile.Entries(c.file, text)
	}
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return c, nil
}

// Validate refuses fields that no command has that reads such a file.
func (c *config) Validate(app *kong.Application) error {
	var known []string
	collect(app.Node, nil, &known)
	var all []error
	for _, f := range c.fields {
		if !slices.Contains(known, f.Key) {
			all = append(all, c.wrong(f, "unknown key %q%s", f.Key, nearest.DidYouMean(f.Key, known)))
		}
	}
	return errors.Join(all...)
}

// collect adds the names of the flags of each command with --config.
func collect(n *kong.Node, above []*kong.Flag, known *[]string) {
	above = append(slices.Clip(above), n.Flags...)
	if slices.ContainsFunc(n.Flags, func(f *kong.Flag) bool { return f.Name == "config" }) {
		for _, f := range above {
			*known = append(*known, f.Name)
		}
	}
	for _, below := range n.Children {
		collect(below, above, known)
	}
}

func (c *config) wrong(f yamlfile.Entry, format string, args ...any) error {
	return &yamlfile.Error{File: c.file, Line: f.Line, Text: fmt.Sprintf(format, args...)}
}

// wrongField is an error of Resolve. Kong puts the flag, with its default, in front of it.
type wrongField struct{ error }

// Resolve returns a flag's value from the file, unless the environment has one.
func (c *config) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range flag.Envs {
		if _, ok := os.LookupEnv(name); ok {
			return nil, nil
		}
	}
	at := slices.IndexFunc(c.fields, func(f yamlfile.Entry) bool { return f.Key == flag.Name })
	if at < 0 {
		return nil, nil
	}
	f := c.fields[at]
	value, err := c.value(f, flag)
	if err != nil {
		return nil, wrongField{err}
	}
	if why := refused(flag, value); why != "" {
		return nil, wrongField{c.wrong(f, "%s: %s", f.Key, why)}
	}
	return value, nil
}

// value returns a field in the form for flags.
func (c *config) value(f yamlfile.Entry, flag *kong.Flag) (any, error) {
	var parts []string
	switch n := f.Value; n.Kind {
	case yaml.ScalarNode:
		if flag.Target.Kind() == reflect.String {
			return n.Value, nil // such as an account that begins with 0
		}
		return scalar(n), nil
	case yaml.SequenceNode:
		for _, e := range n.Content {
			if e.Kind != yaml.ScalarNode {
				return nil, c.wrong(f, "%s: each element of the list must be one value, not a list or keys", f.Key)
			}
			parts = append(parts, scalar(e))
		}
	case yaml.MappingNode:
		if flag.Name == "oidc-rules" {
			return nil, c.wrong(f, "oidc-rules: must be a list, such as [platform-team=admin, %s]: the first rule that fits decides, and the fields of a map have no order", `"*=read-only"`)
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			name, e := n.Content[i], n.Content[i+1]
			if name.Kind != yaml.ScalarNode || e.Kind != yaml.ScalarNode {
				return nil, c.wrong(f, "%s: the value of each key must be one value, not a list or keys", f.Key)
			}
			parts = append(parts, name.Value+"="+scalar(e))
		}
		slices.Sort(parts)
	}
	return kong.JoinEscaped(parts, ','), nil
}

// scalar returns a value as it is written, a number as YAML reads it.
func scalar(n *yaml.Node) string {
	var v any
	if tag := n.ShortTag(); tag != "!!str" && n.Decode(&v) == nil && v != nil {
		return fmt.Sprint(v)
	}
	return n.Value
}

// refused returns why a flag does not take a value, or "" if it does.
func refused(flag *kong.Flag, value any) string {
	into := reflect.New(flag.Target.Type()).Elem()
	if into.Kind() == reflect.Pointer {
		into.Set(reflect.New(into.Type().Elem()))
	}
	scan := kong.Scan().PushTyped(value, kong.FlagValueToken)
	if err := flag.Mapper.Decode(&kong.DecodeContext{Value: flag.Value, Scan: scan}, into); err != nil {
		return err.Error()
	}
	if known := flag.EnumSlice(); flag.Enum != "" && into.Kind() == reflect.String && !slices.Contains(known, into.String()) {
		return fmt.Sprintf("%q is not one of %s%s", into, strings.Join(slices.DeleteFunc(known, func(s string) bool { return s == "" }), ", "), nearest.DidYouMean(into.String(), known))
	}
	return ""
}

// inFile returns err with the line of the configuration file that set what it is about, if
// one did: err begins with the name of the flag, or has it.
func inFile(parsed *kong.Context, err error) error {
	var at *yamlfile.Error
	if errors.As(err, &at) {
		return err
	}
	f := flagOf(parsed, "config")
	if f == nil || f.Target.String() == "" {
		return err
	}
	path := kong.ExpandPath(f.Target.String())
	text, failed := os.ReadFile(path)
	if failed != nil {
		return err
	}
	fields, _ := yamlfile.Entries(path, text)
	for _, f := range fields {
		set := slices.ContainsFunc(parsed.Path, func(p *kong.Path) bool { return p.Resolved && p.Flag != nil && p.Flag.Name == f.Key })
		if set && (strings.HasPrefix(err.Error(), f.Key+": ") || regexp.MustCompile(`--`+f.Key+`(?:[^\w-]|$)`).MatchString(err.Error())) {
			return fmt.Errorf("%s:%d: %w", path, f.Line, err)
		}
	}
	return err
}

func flagOf(parsed *kong.Context, name string) *kong.Flag {
	for _, f := range parsed.Flags() {
		if f.Name == name {
			return f
		}
	}
	return nil
}
