package fleet

import (
	"strings"
	"time"
)

// CustomPrefix is the prefix of every location that an operator creates.
const CustomPrefix = "custom-"

// Location is a custom location. Region names are locations too (Regions), but not rows.
type Location struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
}

// IsCustom reports whether a location name is that of a custom location.
func IsCustom(name string) bool { return strings.HasPrefix(name, CustomPrefix) }
