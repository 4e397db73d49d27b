package search

// hold is what a set of items has in common. It restricts every match that includes the
// set.
type hold struct {
	level  int // the level at the set's age
	levels uint64
	mask   uint64
	filled bool // includes a backfill ticket
	ways   ways // to seat all players
	seated int  // players, including those of the game session
	low    [maxWindows]float64
	high   [maxWindows]float64
}

// join sets out to the hold of a set with one more item. It returns false if no match can
// include them all.
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
