package fleet

import (
	"strings"
	"time"
)

// CustomPrefix begins the name of every location that an operator makes.
const CustomPrefix = "custom-"

// Location is a place of the operator's own. Region names are locations too
// (Regions), but not rows.
type Location struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
}

// IsCustom tells whether a location name is an operator's own.
func IsCustom(name string) bool { return strings.HasPrefix(name, CustomPrefix) }
