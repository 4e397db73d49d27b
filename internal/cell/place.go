package cell

// maxHeld is how many requests may wait concurrently for the cell to have an owner.
const maxHeld = 4096

// place is a request's place among those held; the zero place is none.
type place struct {
	gate  *Gate
	taken bool
}

// take takes a place, if there is one, and reports whether the request has one.
func (p *place) take() bool {
	if p.taken {
		return true
	}
	if p.gate.held.Add(1) > maxHeld {
		p.gate.held.Add(-1)
		return false
	}
	p.taken = true
	return true
}

func (p *place) leave() {
	if p.taken {
		p.gate.held.Add(-1)
		p.taken = false
	}
}
