package game

// sign returns the direction's sign along each axis: -1, 0 or 1.
func (d Direction) sign() (int, int) {
	switch d {
	case 1:
		return 0, -1
	case 2:
		return 1, -1
	case 3:
		return 1, 0
	case 4:
		return 1, 1
	case 5:
		return 0, 1
	case 6:
		return -1, 1
	case 7:
		return -1, 0
	case 8:
		return -1, -1
	}
	return 0, 0
}

// towards returns the point at a distance in a direction. On a diagonal it moves
// seven tenths of the distance along each axis.
func (p Point) towards(d Direction, length int) Point {
	x, y := d.sign()
	if x != 0 && y != 0 {
		length = (length*7 + 5) / 10
	}
	return Point{p.X + x*length, p.Y + y*length}
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
