package ruleset

// blankComments replaces // and /* */ comments with spaces, so that every other byte
// keeps its position. JSON has no comments, but rule sets in AWS's own samples do. An
// unterminated comment is left to the JSON reader, which refuses it.
func blankComments(body []byte) []byte {
	out := append([]byte(nil), body...)
	for i := 0; i < len(out); {
		switch {
		case out[i] == '"':
			i = stringEnd(out, i)
		case startsAt(out, i, "//"):
			end := i
			for end < len(out) && out[end] != '\n' {
				end++
			}
			i = blank(out, i, end)
		case startsAt(out, i, "/*"):
			end := commentEnd(out, i+2)
			if end < 0 {
				return out
			}
			i = blank(out, i, end)
		default:
			i++
		}
	}
	return out
}

// stringEnd returns the position after the string that begins at i.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// commentEnd returns the position after the next */, or -1.
func commentEnd(text []byte, i int) int {
	for ; i+1 < len(text); i++ {
		if startsAt(text, i, "*/") {
			return i + 2
		}
	}
	return -1
}

func startsAt(text []byte, i int, word string) bool {
	return len(text)-i >= len(word) && string(text[i:i+len(word)]) == word
}

// blank overwrites text[from:to] with spaces, except for line ends, and returns to.
func blank(text []byte, from, to int) int {
	for i := from; i < to; i++ {
		if text[i] != '\n' && text[i] != '\r' {
			text[i] = ' '
		}
	}
	return to
}
