package session

import "sync"

// mailbox holds what a tracker has not taken yet: the newest event of each
// ticket, so that a slow tracker holds up nobody and learns the latest.
type mailbox struct {
	mu     sync.Mutex
	events []TicketEvent
	filled chan struct{} // of capacity 1
}

func newMailbox() *mailbox { return &mailbox{filled: make(chan struct{}, 1)} }

// put adds an event. It takes the place of the ticket's former one, but trouble
// that will pass does not hide a change of state.
func (m *mailbox) put(e TicketEvent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer nudge(m.filled)
	for i, waiting := range m.events {
		if waiting.Ticket.ID != e.Ticket.ID {
			continue
		}
		if e.Kind != TrackError || e.Last() {
			m.events[i] = e
		}
		return
	}
	m.events = append(m.events, e)
}

// take empties the mailbox.
func (m *mailbox) take() []TicketEvent {
	m.mu.Lock()
	defer m.mu.Unlock()
	events := m.events
	m.events = nil
	return events
}
