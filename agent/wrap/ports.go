package wrap

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

const portVariable = "GAME_PORT"

// PortVariable returns the environment variable with the port of a name.
func PortVariable(name string) string { return portVariable + "_" + strings.ToUpper(name) }

var portName = regexp.MustCompile(`^[A-Z][A-Z0-9]*$`)

// ports reads the ports of a process from its environment.
func ports(environment []string) (game int, named map[string]int, err error) {
	named = map[string]int{}
	for _, pair := range environment {
		key, text, _ := strings.Cut(pair, "=")
		name, other := strings.CutPrefix(key, portVariable+"_")
		if text == "" || key != portVariable && !(other && portName.MatchString(name)) {
			continue
		}
		port, err := strconv.Atoi(text)
		if err != nil || port < 0 || port > 65535 {
			return 0, nil, fmt.Errorf("%s: %q is no port", key, text)
		}
		if other {
			named[strings.ToLower(name)] = port
		} else {
			game = port
		}
	}
	return game, named, nil
}
