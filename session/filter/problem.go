package filter

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/musterhq/muster/internal/fault"
)

// maxProblems is the most mistakes listed in one error.
const maxProblems = 8

// problems collects the mistakes of one expression, so that all can be fixed together. A
// syntax error ends parsing; mistakes in names and types do not.
type problems struct {
	member string // FilterExpression or SortExpression
	src    string
	list   []string
}

// add records a mistake at a byte offset, which is reported as a column counted in
// characters from 1.
func (p *problems) add(at int, format string, args ...any) {
	if len(p.list) == maxProblems {
		return
	}
	column := utf8.RuneCountInString(p.src[:at]) + 1
	p.list = append(p.list, fmt.Sprintf("column %d: %s", column, fmt.Sprintf(format, args...)))
}

// err returns all mistakes as one fault, or nil.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	return fault.Invalid("%s: %s", p.member, strings.Join(p.list, "; "))
}
