package game

// compass has the sign of each direction along each axis.
var compass = [...]Point{{0, 0}, {0, -1}, {1, -1}, {1, 0}, {1, 1}, {0, 1}, {-1, 1}, {-1, 0}, {-1, -1}}

// towards returns the point at a distance in a direction. On a diagonal it moves
// seven tenths of the distance along each axis.
func (p Point) towards(d Direction, length int) Point {
	if int(d) >= len(compass) {
		return p
	}
	sign := compass[d]
	if sign.X != 0 && sign.Y != 0 {
		length = (length*7 + 5) / 10
	}
	return Point{p.X + sign.X*length, p.Y + sign.Y*length}
}

func (p Point) within(q Point, distance int) bool {
	dx, dy := p.X-q.X, p.Y-q.Y
	return dx*dx+dy*dy <= distance*distance
}

// inside moves a player's position back inside the walls.
func inside(p Point) Point { return bounded(p, Radius) }

func bounded(p Point, margin int) Point {
	return Point{min(max(p.X, margin), Size-margin), min(max(p.Y, margin), Size-margin)}
}
