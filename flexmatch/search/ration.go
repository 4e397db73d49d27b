package search

// ration bounds a pass over large matches and sees to it that nobody starves: each
// part has its share of the steps, and a part whose share ends goes on in the next
// pass with the tickets that it has not come to.
type ration struct {
	left  int // steps for the parts to come
	share int // steps left for the part at hand
	key   string
	start int // the first anchor to try in it

	from    map[string]int  // by part: where the next pass goes on
	stirred map[string]bool // parts that changed since their first anchors were tried
	more    bool            // a part is not finished
}

// stir notes that tickets came: parts that are not finished start over afterwards.
func (r *ration) stir() {
	for key := range r.from {
		r.stirred[key] = true
	}
}

// begin starts a pass.
func (r *ration) begin(work int) {
	r.left, r.more = work, false
}

// open turns to the next of so many parts.
func (r *ration) open(key string, parts int) {
	r.key, r.start = key, r.from[key]
	r.share = r.left / parts
	r.left -= r.share
}

// pause notes the anchor at which the part's share ended.
func (r *ration) pause(anchor int) {
	r.from[r.key], r.more = anchor, true
}

// done notes that every anchor from the first one on was tried.
func (r *ration) done() {
	r.more = r.more || r.start > 0 && r.stirred[r.key]
	delete(r.from, r.key)
	delete(r.stirred, r.key)
}

// close gives what the part did not need to those to come.
func (r *ration) close() { r.left += max(r.share, 0) }
