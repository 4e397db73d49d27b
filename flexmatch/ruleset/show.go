package ruleset

import "fmt"

// Evaluate returns the value of an expression over a lineup: a number, a string, a list
// of values, or nil if undefined.
func (rs *RuleSet) Evaluate(expression string, lineup *Lineup) (any, error) {
	e, bad := rs.parseExpr(expression)
	if bad != nil {
		return nil, fmt.Errorf("%s at %d: %s", bad.code, bad.at+1, bad.text)
	}
	v := &view{lineup: lineup}
	return v.eval(e).show(), nil
}

func (d datum) show() any {
	switch d.form {
	case isNum:
		return d.num
	case isStr:
		return d.str
	case isSeq:
		return each(d.list, datum.show)
	}
	return nil
}
