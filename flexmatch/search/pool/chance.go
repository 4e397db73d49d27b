package pool

// chance is how often something that may be tried was found lately.
type chance struct {
	tried, found float64 // recent ones count more
}

// share returns how much may be spent on the next try, as a share of the most: all of it before the
// first.
func (c *chance) share() float64 { return (1 + c.found) / (1 + c.tried) }

func (c *chance) note(found bool) {
	if c.tried++; found {
		c.found++
	}
	if c.tried >= 64 {
		c.tried, c.found = c.tried/2, c.found/2
	}
}
