package ruleset

// Reads is the data that some rules depend on.
type Reads struct {
	Attributes []bool // by attribute
	IDs        bool   // player IDs
	Latency    bool
}

// Reads returns the data that the rules depend on at any level: in measurements,
// references, and the rules that compounds name.
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
