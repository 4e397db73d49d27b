package plain

import (
	"fmt"
	"strings"
)

// Count returns a number and what it counts: "1 queue", "2 queues". The last word of noun is a
// regular English noun in the singular.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %s", n, plural(noun))
}

func plural(noun string) string {
	if front, ok := strings.CutSuffix(noun, "y"); ok && front != "" && !strings.ContainsRune("aeiou", rune(front[len(front)-1])) {
		return front + "ies"
	}
	for _, end := range []string{"s", "x", "ch", "sh"} {
		if strings.HasSuffix(noun, end) {
			return noun + "es"
		}
	}
	return noun + "s"
}
