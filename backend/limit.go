package backend

import (
	"maps"
	"math"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/limit"
)

// Limits limit how often players may do things. A zero field means the default, which on
// an open server is no rate limit; a negative field means no limit.
type Limits struct {
	PerAddress     float64 `yaml:"per_address"`      // requests per second from one address, with bursts of three times as many; default 20
	PerKey         float64 `yaml:"per_key"`          // requests per second with one access key, with bursts of three times as many; default 1,000
	GuestsPerHour  float64 `yaml:"guests_per_hour"`  // new guest accounts from one address, for IPv6 from one /56; default 10
	LoginsPerMin   float64 `yaml:"logins_per_min"`   // logins with providers from one address; default 30
	TicketsPerMin  float64 `yaml:"tickets_per_min"`  // new tickets of one player; default 20
	SessionsPerMin float64 `yaml:"sessions_per_min"` // new game sessions of one player; default 2
	WritesPerSec   float64 `yaml:"writes_per_sec"`   // other changes by one player, with bursts of ten times as many; default 2
	Sockets        int     `yaml:"sockets"`          // WebSockets of one player; default 3
	AllSockets     int     `yaml:"all_sockets"`      // WebSockets at a time; default 20,000
	Waits          int     `yaml:"waits"`            // long polls at a time; default 20,000
	WaitsPerPlayer int     `yaml:"waits_per_player"` // long polls of one player; one more ends the oldest; default 4
}

func (l *Limits) setDefaults(open bool) {
	rate := func(r *float64, value float64) {
		switch {
		case *r != 0:
		case open:
			*r = -1
		default:
			*r = value
		}
	}
	count := func(n *int, value int) {
		switch {
		case *n == 0:
			*n = value
		case *n < 0:
			*n = math.MaxInt
		}
	}
	rate(&l.PerAddress, 20)
	rate(&l.PerKey, 1000)
	rate(&l.GuestsPerHour, 10)
	rate(&l.LoginsPerMin, 30)
	rate(&l.TicketsPerMin, 20)
	rate(&l.SessionsPerMin, 2)
	rate(&l.WritesPerSec, 2)
	count(&l.Sockets, 3)
	count(&l.AllSockets, 20_000)
	count(&l.Waits, 20_000)
	count(&l.WaitsPerPlayer, 4)
}

// meter counts requests by key. The zero meter counts nothing.
type meter struct {
	name    string // in metrics
	buckets *limit.Buckets[string]
}

// newMeter returns a meter for n in a period, with bursts of atOnce.
func newMeter(name string, n float64, period time.Duration, atOnce int) meter {
	return meter{name, limit.NewBuckets[string](limit.Rate{PerSecond: n / period.Seconds(), Burst: atOnce})}
}

// The names of limits in metrics.
const (
	limitAddress = "address"
	limitKey     = "key"
	limitGuest   = "guest"
	limitLogin   = "login"
	limitTicket  = "ticket"
	limitSession = "session"
	limitWrite   = "write"
	limitMessage = "message"
	limitLockout = "lockout" // not of a meter: of failed logins
)

type meters struct {
	address, key, guest, login, ticket, session, write, message meter

	metrics *metrics
}

// take counts a request by a key, and returns an error if the limit is reached.
func (all *meters) take(m meter, key string) error {
	if wait := m.buckets.Take(key, time.Now()); wait > 0 {
		all.metrics.limit(m.name)
		return limited("rate-limited", wait)
	}
	return nil
}

func (l *Limits) meters(counts *metrics) *meters {
	return &meters{
		metrics: counts,
		address: newMeter(limitAddress, l.PerAddress, time.Second, int(3*l.PerAddress)),
		key:     newMeter(limitKey, l.PerKey, time.Second, int(3*l.PerKey)),
		guest:   newMeter(limitGuest, l.GuestsPerHour, time.Hour, int(l.GuestsPerHour)),
		login:   newMeter(limitLogin, l.LoginsPerMin, time.Minute, int(l.LoginsPerMin)),
		ticket:  newMeter(limitTicket, l.TicketsPerMin, time.Minute, 3),
		session: newMeter(limitSession, l.SessionsPerMin, time.Minute, 5),
		write:   newMeter(limitWrite, l.WritesPerSec, time.Second, int(10*l.WritesPerSec)),
		message: newMeter(limitMessage, 10, time.Second, 20),
	}
}

// maxLockouts limits the memory of a lockout; keys are short.
const maxLockouts = 200_000

// makeRoom deletes past entries and, if necessary, others, until there is room for many
// new ones: a flood of keys must neither use up memory nor make every call iterate over
// all of them.
func (l *lockout) makeRoom(now time.Time) {
	if len(l.of) < maxLockouts {
		return
	}
	maps.DeleteFunc(l.of, func(_ string, f failures) bool { return !f.until.After(now) })
	for key := range l.of {
		if len(l.of) < maxLockouts*3/4 {
			return
		}
		delete(l.of, key)
	}
}

// Failed logins lock out an account and an address for a while.
const (
	failuresOfAccount = 5
	failuresOfAddress = 10
	accountLock       = time.Minute
	addressLock       = 10 * time.Minute
)

type lockout struct {
	mu sync.Mutex
	of map[string]failures
}

type failures struct {
	n     int
	until time.Time // of the count; once n is reached, of the lock
}

func newLockout() *lockout { return &lockout{of: map[string]failures{}} }

// locked returns for how long a key is still locked out.
func (l *lockout) locked(key string, most int, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.of[key]; f.n >= most && f.until.After(now) {
		return f.until.Sub(now)
	}
	return 0
}

func (l *lockout) failed(key string, lock time.Duration, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, known := l.of[key]
	if !known {
		l.makeRoom(now)
	}
	if !f.until.After(now) {
		f.n = 0
	}
	l.of[key] = failures{f.n + 1, now.Add(lock)}
}

func (l *lockout) passed(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, key)
}
