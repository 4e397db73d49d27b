package cell

// maxHeld is how many requests may wait at a time for the cell to have an owner.
const maxHeld = 4096

// place is that of one request among those held; its zero state is none.
type place struct {
	gate  *Gate
	taken bool
}

// take tells whether there is a place.
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
