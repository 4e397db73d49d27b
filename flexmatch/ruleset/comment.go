package ruleset

import "bytes"

// blankComments replaces // and /* */ comments with spaces, so that every other byte
// keeps its position. JSON has no comments, but rule sets in AWS's own samples do. An
// unterminated comment is left to the JSON reader, which refuses it.
func blankComments(body []byte) []byte {
	out := bytes.Clone(body)
	for i := 0; i < len(out); {
		rest, length := out[i:], 1
		switch {
		case rest[0] == '"':
			length = stringLength(rest)
		case bytes.HasPrefix(rest, []byte("//")):
			length = len(rest)
			if end := bytes.IndexByte(rest, '\n'); end >= 0 {
				length = end
			}
			blank(rest[:length])
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				return out
			}
			length = end + 4
			blank(rest[:length])
		}
		i += length
	}
	return out
}

func stringLength(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// blank overwrites text with spaces, except for line ends.
func blank(text []byte) {
	for i, c := range text {
		if c != '\n' && c != '\r' {
			text[i] = ' '
		}
	}
}
