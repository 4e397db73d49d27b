package filter

// Order is a direction of sorting.
type Order string

// The two directions.
const (
	Ascending  Order = "ASC"
	Descending Order = "DESC"
)

// ByName sorts by the game session's name.
func ByName(o Order) string { return "gameSessionName " + string(o) }

// ByCreation sorts by the time of creation; Ascending puts the oldest first.
func ByCreation(o Order) string { return "creationTimeMillis " + string(o) }

// ByPlayers sorts by the number of players; Descending puts the fullest first.
func ByPlayers(o Order) string { return "playerSessionCount " + string(o) }

// ByMaxPlayers sorts by the number of slots.
func ByMaxPlayers(o Order) string { return "maximumSessions " + string(o) }

// ByProperty sorts by a game property, as a string. For a key that Property rejects
// it returns "", which leaves the order to the service.
func ByProperty(key string, o Order) string {
	if Property(key, Eq, "").err != nil {
		return ""
	}
	return "gameSessionProperties." + key + " " + string(o)
}
