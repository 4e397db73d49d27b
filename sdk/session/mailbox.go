package session

import "sync"

// mailbox holds the events that a tracker has not taken yet: the newest of each ticket,
// so that a slow tracker blocks nobody and sees the latest state.
type mailbox struct {
	mu     sync.Mutex
	events []TicketEvent
	filled chan struct{} // of capacity 1
}

func newMailbox() *mailbox { return &mailbox{filled: make(chan struct{}, 1)} }

// put adds an event, replacing the ticket's previous one. A temporary error does not
// replace a change of state.
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

func (m *mailbox) take() []TicketEvent {
	m.mu.Lock()
	defer m.mu.Unlock()
	events := m.events
	m.events = nil
	return events
}
