// Package nearest finds the name that a misspelled word was likely meant to be.
package nearest

import (
	"fmt"
	"strings"
)

// maxLength is how many bytes a word and a name have at most that are compared letter by letter.
const maxLength = 100

// Of returns the name that is nearest to a word, or "" if none is near: upper and lower case
// are alike, and a name is near if the word is its beginning, or if at most half of the word's
// letters differ.
func Of(word string, names []string) string {
	best, least := "", len(word)/2+1
	lower := strings.ToLower(word)
	for _, name := range names {
		d := distance(lower, strings.ToLower(name))
		if strings.HasPrefix(strings.ToLower(name), lower) {
			d = min(d, 1)
		}
		if d < least {
			best, least = name, d
		}
	}
	return best
}

// Within returns the name that is nearest to a word with at most so many letters added,
// removed, replaced or swapped with the next, or "" if there is none: upper and lower case are alike. It is for words
// that may be no misspelled name at all.
func Within(word string, names []string, most int) string {
	best, least := "", most+1
	for _, name := range names {
		if d := distance(strings.ToLower(word), strings.ToLower(name)); d < least {
			best, least = name, d
		}
	}
	return best
}

// DidYouMean returns " (did you mean "NAME"?)" for the name that is nearest to a word, or ""
// if none is near.
func DidYouMean(word string, names []string) string {
	if name := Of(word, names); name != "" {
		return fmt.Sprintf(" (did you mean %q?)", name)
	}
	return ""
}

// distance returns how many bytes have to be added, removed, replaced or swapped with the next
// one to make b of a, where no byte is changed twice.
func distance(a, b string) int {
	if len(a) > maxLength || len(b) > maxLength {
		return max(len(a), len(b))
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := last[j]
			if a[i] != b[j] {
				cost = 1 + min(last[j], row[j], last[j+1])
				if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
					cost = min(cost, 1+before[j-1])
				}
			}
			row[j+1] = cost
		}
	}
	return row[len(b)]
}
