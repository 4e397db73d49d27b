package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The declarations of AWS's client for JavaScript, which is published soon after each
// change of the API.
var (
	comments     = regexp.MustCompile(`(?s)/\*.*?\*/`)
	enumerations = regexp.MustCompile(`(?s)export declare const (\w+): \{(.*?)\n\};`)
	enumValues   = regexp.MustCompile(`"([^"]*)";`)
	interfaces   = regexp.MustCompile(`(?s)export interface (\w+) \{(.*?)\n\}`)
	ending       = regexp.MustCompile(`^(.+)(Input|Request|Output|Response)$`)
	properties   = regexp.MustCompile(`(?m)^ +(\w+)\??: `)
)

// newer returns a line for each operation, member and enumeration value that the client in a
// directory, an unpacked npm package @aws-sdk/client-gamelift, has and the description has not.
func (m *model) newer(dir string) ([]string, error) {
	commands, err := filepath.Glob(filepath.Join(dir, "dist-types", "commands", "*Command.d.ts"))
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "dist-types", "models", "*.d.ts"))
	if err != nil {
		return nil, err
	}
	if len(commands) == 0 || len(files) == 0 {
		return nil, errors.New("it has no dist-types/commands and dist-types/models: it must be an unpacked npm package @aws-sdk/client-gamelift")
	}
	var lines []string
	for _, path := range commands {
		if name := strings.TrimSuffix(filepath.Base(path), "Command.d.ts"); m.Operations[name].Errors == nil {
			lines = append(lines, "operation "+name)
		}
	}
	enums := m.enums(m.members(false))
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		text := comments.ReplaceAllString(string(data), "")
		for _, found := range enumerations.FindAllStringSubmatch(text, -1) {
			for _, value := range enumValues.FindAllStringSubmatch(found[2], -1) {
				if !slices.Contains(enums[found[1]], value[1]) {
					lines = append(lines, fmt.Sprintf("enumeration %s: %s", found[1], value[1]))
				}
			}
		}
		for _, found := range interfaces.FindAllStringSubmatch(text, -1) {
			for _, property := range properties.FindAllStringSubmatch(found[2], -1) {
				if !m.has(found[1], property[1]) {
					lines = append(lines, fmt.Sprintf("member %s.%s", found[1], property[1]))
				}
			}
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}

// has reports whether a structure, or the input or output of an operation, has a member.
func (m *model) has(owner, name string) bool {
	ms := m.Structures[owner].Members
	if of := ending.FindStringSubmatch(owner); of != nil && ms == nil {
		switch op := m.Operations[of[1]]; {
		case of[2] == "Input" || of[2] == "Request":
			ms = op.Input
		case op.Output != nil:
			ms = *op.Output
		}
	}
	return slices.ContainsFunc(ms, func(has member) bool { return has.Name == name })
}
