package search

// hold is what a set of items has in common: a match that holds the set must
// keep within it.
type hold struct {
	level  int // of the set's age
	levels uint64
	mask   uint64
	filled bool // holds a backfill ticket
	ways   ways // to seat everybody
	seated int  // players, those of the game session too
	low    [maxWindows]float64
	high   [maxWindows]float64
}

// join gives the hold of a set with one item more; false if no match can have it.
func (h *hunt) join(st *hold, it *item, out *hold) bool {
	level := min(st.level, it.level)
	if h.oldest {
		level = max(st.level, it.level)
	}
	mask, levels := st.mask&it.maskAt(level), st.levels&it.levels
	if it.held > 0 && st.filled {
		return false
	}
	ways := h.columns.roster.with(st.ways, it.entry)
	if ways == 0 {
		return false
	}
	if mask == 0 {
		h.seen[causeLatency]++
		return false
	}
	if levels == 0 {
		h.seen[causePerTicket]++
		return false
	}
	for i := range h.columns.windows {
		low, high := min(st.low[i], it.low[i]), max(st.high[i], it.high[i])
		if high-low > h.columns.windows[i].loosest[level] {
			h.seen[causeWindow+i]++
			return false
		}
		out.low[i], out.high[i] = low, high
	}
	h.seen[causeNone]++
	out.level, out.levels, out.mask, out.filled = level, levels, mask, st.filled || it.held > 0
	out.ways, out.seated = ways, st.seated+it.size+it.held
	return true
}
