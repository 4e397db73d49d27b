package pages

// ring has the newest steps of one resolution in one place. Its zero value is empty; the
// place of a step is used again once it is too old.
type ring struct {
	number  []int64             // of the step in each place, since 1970; 0 if there is none
	samples []uint32            // how often values were sampled in the step
	values  map[string][]uint32 // counts, and sums of samples, by name
	took    map[string][]*waits // how long things took, by name; nil: nothing did
}

// at returns the place of a step to write to; ok is false if the step is too old.
func (r *ring) at(of *resolution, number int64) (place int, ok bool) {
	if r.number == nil {
		r.number, r.samples = make([]int64, of.kept), make([]uint32, of.kept)
		r.values, r.took = map[string][]uint32{}, map[string][]*waits{}
	}
	place = int(number % int64(of.kept))
	if r.number[place] > number {
		return 0, false
	}
	if r.number[place] < number {
		r.number[place], r.samples[place] = number, 0
		for _, v := range r.values {
			v[place] = 0
		}
		for _, w := range r.took {
			w[place] = nil
		}
	}
	return place, true
}

// find returns the place of a step to read; ok is false if nothing of it is known.
func (r *ring) find(of *resolution, number int64) (place int, ok bool) {
	if r.number == nil || number <= 0 {
		return 0, false
	}
	place = int(number % int64(of.kept))
	return place, r.number[place] == number
}

// add adds to a value of a step.
func (r *ring) add(place int, name string, n uint32) {
	v := r.values[name]
	if v == nil {
		v = make([]uint32, len(r.number))
		r.values[name] = v
	}
	v[place] += n
}

// waitsAt returns the histogram of a step to add to.
func (r *ring) waitsAt(place int, name string) *waits {
	w := r.took[name]
	if w == nil {
		w = make([]*waits, len(r.number))
		r.took[name] = w
	}
	if w[place] == nil {
		w[place] = &waits{}
	}
	return w[place]
}
