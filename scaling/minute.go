package scaling

// minute adds up the looks at a location since the last pass. Game sessions may be shorter than a
// minute, and come in waves: one look a minute would not see them.
type minute struct {
	sums   map[string]float64
	counts map[string]int // looks in which a metric was known
	last   Sample
	most   int // Sample.Sessions at most
}

// add adds a look. unserved is how many requests for game sessions have found no process since the
// look before, or wait for one. As they may be the same request again and again, they count for
// no more game sessions than the location has processes.
func (m *minute) add(s Sample, unserved int) {
	if m.sums == nil {
		m.sums, m.counts = map[string]float64{}, map[string]int{}
	}
	for name, v := range s.Metrics {
		m.sums[name] += v
		m.counts[name]++
	}
	m.most = max(m.most, s.Sessions+min(unserved, s.Processes))
	m.last = s
}

// sample returns the minute's measurements: metrics are means over the looks, and the game sessions
// are those of the look with the most.
func (m *minute) sample() Sample {
	out := m.last
	out.Metrics = make(map[string]float64, len(m.sums))
	for name, sum := range m.sums {
		out.Metrics[name] = sum / float64(m.counts[name])
	}
	out.Sessions = m.most
	return out
}
