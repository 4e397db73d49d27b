package search

// ration bounds a pass over large matches and prevents starvation: each part has its
// share of the steps, and a part whose share is used up continues in the next pass with
// the tickets that it has not reached.
type ration struct {
	left  int // steps for the remaining parts
	share int // steps left for the current part
	key   string
	start int // the first anchor to try in the current part

	from    map[string]int  // by part: the anchor at which the next pass continues
	stirred map[string]bool // parts that changed since their first anchors were tried
	more    bool            // some part is not finished
}

// stir records that tickets were added: unfinished parts start over when they have
// finished.
func (r *ration) stir() {
	for key := range r.from {
		r.stirred[key] = true
	}
}

// begin starts a pass.
func (r *ration) begin(work int) {
	r.left, r.more = work, false
}

// open starts the next part; parts is how many remain.
func (r *ration) open(key string, parts int) {
	r.key, r.start = key, r.from[key]
	r.share = r.left / parts
	r.left -= r.share
}

// pause records the anchor at which the part's share ended.
func (r *ration) pause(anchor int) {
	r.from[r.key], r.more = anchor, true
}

// done records that every anchor from start on was tried.
func (r *ration) done() {
	r.more = r.more || r.start > 0 && r.stirred[r.key]
	delete(r.from, r.key)
	delete(r.stirred, r.key)
}

// close returns the part's unused steps to the remaining parts.
func (r *ration) close() { r.left += max(r.share, 0) }
