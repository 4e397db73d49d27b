package compute

import (
	"sync"
	"time"

	"github.com/musterhq/muster/internal/store"
)

// Link sends messages to a living process. Calls come after commit, in order, and must
// not block: an implementation keeps what it cannot send now and sends it on the
// process's next connection.
type Link interface {
	// StartGameSession tells the process to host a game session. It is called
	// at most once for a session: an ambiguous send is never repeated.
	StartGameSession(Start)
	// UpdateGameSession reports new matchmaker data or the end of a backfill.
	UpdateGameSession(Update)
	// Terminate tells the process to end by a time. It may be repeated.
	Terminate(by time.Time)
	// Drop closes the process's sockets immediately, because the process is not known
	// any more and nothing else ends it. Without Drop, an implementation allows an
	// ended process time to exit or be killed, and then closes what is still open.
	Drop()
}

// Start is the game session that a process is to host.
type Start struct {
	GameSessionID, Name, Data, MatchmakerData string
	MaxPlayers                                int
	IPAddress, DNSName                        string
	Port                                      int
	Properties                                map[string]string
}

// Update is a change of a game session, as sent to the process.
type Update struct {
	Session          Start
	FleetID          string
	Location         string
	Status           string
	Reason           string // MATCHMAKING_DATA_UPDATED, BACKFILL_FAILED, …
	BackfillTicketID string
}

// links holds the links of the processes that have connected since this node started.
type links struct {
	mu sync.RWMutex
	m  map[string]Link // by process key
}

func (l *links) get(key string) Link {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.m[key]
}

func (l *links) set(key string, link Link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.m[key] = link
}

func (l *links) remove(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.m, key)
}

// send calls f with the process's link, if it has one.
func (l *links) send(key string, f func(Link)) {
	if link := l.get(key); link != nil {
		f(link)
	}
}

// Start sends the process its game session once the transaction is durable.
func (l *links) Start(tx *store.Tx, key string, start Start) {
	tx.OnCommit(func() { l.send(key, func(to Link) { to.StartGameSession(start) }) })
}

// Tell sends the process a change of its game session once the transaction is durable.
func (l *links) Tell(tx *store.Tx, key string, update Update) {
	tx.OnCommit(func() { l.send(key, func(to Link) { to.UpdateGameSession(update) }) })
}
