package ruleset

// counted returns the path whose numbers an expression aggregates, such as that in
// avg(flatten(teams[*].players.attributes[skill])), or nil for other expressions.
func (e *Expr) counted() *Expr {
	switch e.function {
	case fnMin, fnMax, fnAvg, fnMedian, fnSum, fnStddev:
	default:
		return nil
	}
	path := e.argument
	if path.function == fnFlatten {
		path = path.argument
	}
	if path.function != "" || path.part != partAttribute || path.typ.base != numbers {
		return nil
	}
	return path
}

// aggregate applies a function to players' numbers. The result is that of the function on
// the path's lists, but aggregate builds no lists: most rules are of this kind, and every
// match of a pass is judged by them.
func (v *view) aggregate(e, path *Expr) datum {
	values := make([]float64, 0, v.players(path))
	if e.argument == path && path.many() {
		out := make([]datum, len(path.instances))
		for i, instance := range path.instances {
			out[i] = e.function.of(v.numbers(values, path, instance))
		}
		return seq(out)
	}
	for _, instance := range path.instances {
		values = v.numbers(values, path, instance)
	}
	return e.function.of(values)
}

// players returns how many players a path leads to.
func (v *view) players(path *Expr) int {
	n := 0
	for _, instance := range path.instances {
		n += len(v.lineup.Teams[instance])
	}
	return n
}

// numbers appends a team's numbers to a list.
func (v *view) numbers(list []float64, path *Expr, instance int) []float64 {
	members := v.lineup.Teams[instance]
	for i, m := range members {
		if v.again(path, members[:i], m) {
			continue
		}
		if d := v.member(path, m); d.form == isNum {
			list = append(list, d.num)
		}
	}
	return list
}
