package ruleset

// Reads is what a judgement on some rules looks at.
type Reads struct {
	Attributes []bool // by attribute
	IDs        bool   // of players
	Latency    bool
}

// Reads tells what the rules look at, at any level: what they measure, hold it
// against, and what the rules that they name look at.
func (rs *RuleSet) Reads(rules []int) Reads {
	out := Reads{Attributes: make([]bool, len(rs.Attributes))}
	for _, l := range rs.levels {
		for _, i := range rules {
			l.reads(i, &out)
		}
	}
	return out
}

func (l *Level) reads(rule int, out *Reads) {
	r := l.Rules[rule]
	out.Latency = out.Latency || r.Type == Latency
	if r.Attribute >= 0 {
		out.Attributes[r.Attribute] = true
	}
	for _, e := range append(r.Measurements[:len(r.Measurements):len(r.Measurements)], r.Reference.Expr) {
		if e == nil {
			continue
		}
		switch leaf := e.leaf(); leaf.part {
		case partIDs:
			out.IDs = true
		case partAttribute:
			out.Attributes[leaf.attribute] = true
		}
	}
	if r.Statement != nil {
		r.Statement.all(func(i int) bool { l.reads(i, out); return true })
	}
}
