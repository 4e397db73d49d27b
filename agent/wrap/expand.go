package wrap

import "regexp"

var token = regexp.MustCompile(`\{\{\s*\.?((?:Port\.)?[A-Za-z0-9]+)\s*\}\}`)

// expand replaces names with their values; an unknown name stays as it is.
func expand(args []string, values map[string]string) []string {
	all := make([]string, len(args))
	for n, arg := range args {
		all[n] = token.ReplaceAllStringFunc(arg, func(found string) string {
			if value, ok := values[token.FindStringSubmatch(found)[1]]; ok {
				return value
			}
			return found
		})
	}
	return all
}
