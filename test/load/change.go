package main

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// used returns the processor time of the server that f takes, with what goes on after it.
func (c *assembly) used(f func() error) (time.Duration, error) {
	begin, err := c.settled()
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	end, err := c.settled()
	return end - begin, err
}

// settled waits until the server has nothing to do, and returns its processor time.
func (c *assembly) settled() (time.Duration, error) {
	const every, most = 200 * time.Millisecond, 20 * time.Millisecond
	was, err := processorOf(c.PID())
	for end := time.Now().Add(patience); err == nil && time.Now().Before(end); {
		time.Sleep(every)
		var is time.Duration
		if is, err = processorOf(c.PID()); is-was <= most {
			return is, err
		}
		was = is
	}
	return was, err
}

// changes measures a change that concerns all players, first while none is connected and
// then while all are, and the memory of the connections.
func (c *assembly) changes(idleFor time.Duration) error {
	alone, err := c.unseen()
	if err != nil {
		return err
	}
	before, err := c.idle(idleFor)
	if err != nil {
		return err
	}
	fmt.Printf("\n| %d players | processor time of the server each | resident KiB each | heap and stacks in use, KiB each |\n|---|---|---|---|\n", c.n)
	row := func(name, each string, u usage) {
		fmt.Printf("| %s | %s | %.1f | %.1f |\n", name, each, (u.resident-before.resident)/float64(c.n)/1024, (u.used-before.used)/float64(c.n)/1024)
	}
	measure := func(name string, f func() error) (time.Duration, error) {
		used, err := c.used(f)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		now, err := memory(c.Process)
		if err != nil {
			return 0, err
		}
		row(name, fmt.Sprintf("%.0f µs", micro(used, c.n)), now)
		if now, err = c.idle(idleFor); err == nil {
			row("after "+idleFor.String(), "", now)
		}
		return used, err
	}
	if _, err := measure("connected", func() error { return c.connectAll(false) }); err != nil {
		return err
	}
	if _, err := measure("with a ticket that waits", c.queue); err != nil {
		return err
	}
	var begin time.Time
	seen, err := measure("matched, by one change for all", func() error {
		begin = time.Now()
		return c.release(c.n)
	})
	if err != nil {
		return err
	}
	return c.pushed(begin, seen-alone)
}

// unseen matches all players while none is connected, and returns the server's processor
// time for that.
func (c *assembly) unseen() (time.Duration, error) {
	if err := c.rules("wait"); err != nil {
		return 0, err
	}
	if _, err := together(atOnce, c.n, c.start); err != nil {
		return 0, err
	}
	begin, err := c.settled()
	if err != nil {
		return 0, err
	}
	if err := c.rules("tens"); err != nil {
		return 0, err
	}
	for last := time.Now().Add(patience); ; {
		end, err := c.settled()
		if err != nil {
			return 0, err
		}
		if err = c.each(completed); err == nil || time.Now().After(last) {
			return end - begin, err
		} // on a busy machine it looked settled before its turn came
	}
}

// completed returns an error if a ticket is not COMPLETED.
func completed(_ int, t *protocol.Ticket) error {
	if t.State != protocol.TicketStateCompleted {
		return fmt.Errorf("ticket %s is %s once the server has nothing to do, want %s", t.TicketID, t.State, protocol.TicketStateCompleted)
	}
	return nil
}

// each calls f with the ticket of each player as the server has it.
func (c *assembly) each(f func(i int, t *protocol.Ticket) error) error {
	_, err := together(atOnce, c.n, func(i int) error {
		var t protocol.Ticket
		if err := c.call(i, "GET", "/matchmaking/tickets/"+c.tickets[i], "", http.StatusOK, &t); err != nil {
			return err
		}
		return f(i, &t)
	})
	return err
}

// idle returns the server's memory after it was idle.
func (c *assembly) idle(idleFor time.Duration) (usage, error) {
	time.Sleep(idleFor) // being idle is what is measured
	return memory(c.Process)
}

// connectAll connects all players, and waits until they know all that has changed. If
// they are to resume, they have been connected before.
func (c *assembly) connectAll(resume bool) error {
	if _, err := together(atOnce, c.n, func(i int) error { return c.connect(i, resume) }); err != nil {
		return err
	}
	return c.await("told what has changed", c.n, func(_ int, p *member) bool { return p.answered })
}

// queue requests a ticket for each player, and waits until all have been told that it
// waits.
func (c *assembly) queue() error {
	if err := c.rules("wait"); err != nil {
		return err
	}
	if _, err := together(atOnce, c.n, c.start); err != nil {
		return err
	}
	return c.await("told that their ticket waits", c.n, c.in(protocol.TicketStateSearching))
}

// release has all players matched, and waits until n have been told so.
func (c *assembly) release(n int) error {
	released := make(chan error, 1)
	go func() { released <- c.rules("tens") }() // the players may be told before its answer comes
	if err := c.await("told of their match", n, c.in(protocol.TicketStateCompleted)); err != nil {
		return err
	}
	return <-released
}

// pushed prints how long after begin the players were told of their match, and the cost
// of that next to the cost of writing as many bytes to as many connections.
func (c *assembly) pushed(begin time.Time, cost time.Duration) error {
	c.mu.Lock()
	after, size := make([]time.Duration, c.n), 0
	for i, p := range c.members {
		after[i] = p.at.Sub(begin)
		size += p.bytes
	}
	c.mu.Unlock()
	slices.Sort(after)
	size /= c.n
	least, err := writes(min(c.n, mostWritten), size)
	if err != nil {
		return err
	}
	fmt.Println("\n| one change, pushed to | told after: half | 99 % | all | a push: the time with connections less that without | writing as many bytes, nothing else |\n|---|---|---|---|---|---|")
	fmt.Printf("| %d players | %s | %s | %s | %.0f µs, of %d bytes | %.0f µs |\n",
		c.n, ms(after[c.n/2]), ms(after[c.n*99/100]), ms(after[c.n-1]), micro(cost, c.n), size, micro(least, 1))
	return nil
}

// writes returns the processor time of writing a number of bytes to one of n connections
// over loopback, whose other ends have room for it.
func writes(n, size int) (each time.Duration, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	ends := make([]net.Conn, 0, 2*n)
	defer func() {
		for _, end := range ends {
			end.Close()
		}
	}()
	for range n {
		here, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return 0, err
		}
		there, err := l.Accept()
		if err != nil {
			return 0, err
		}
		ends = append(ends, here, there)
	}
	text := make([]byte, size)
	begin := processor()
	for i := 0; i < len(ends); i += 2 {
		if _, err := ends[i].Write(text); err != nil {
			return 0, err
		}
	}
	return (processor() - begin) / time.Duration(n), nil
}

// outage kills the server while it notifies the players of their match, until that has come
// before it had told all of them.
func (c *assembly) outage() error {
	fmt.Println("\n| killed after were told | ready again after | all resumed after | all told after | changes lost | sent twice |\n|---|---|---|---|---|---|")
	const most = 10
	for range most {
		if told, err := c.kill(); err != nil || told < c.n {
			return err
		}
	}
	return fmt.Errorf("%d times the players were all told before the server was killed", most)
}

// kill kills the server once it has told a quarter of the players of their match, restarts it, and has
// all players resume. It returns how many knew of their match before that. It fails unless
// each of them, in the end, was told once exactly what the server has.
func (c *assembly) kill() (told int, err error) {
	if err := c.queue(); err != nil {
		return 0, err
	}
	if err := c.release(c.n / 4); err != nil {
		return 0, err
	}
	c.Kill()
	c.readers.Wait()
	c.conns.close()
	told = c.count(c.in(protocol.TicketStateCompleted))
	begin := time.Now()
	if err := c.again(); err != nil {
		return 0, err
	}
	ready := time.Since(begin)
	if err := c.connectAll(true); err != nil {
		return 0, err
	}
	resumed := time.Since(begin)
	if err := c.reach(); err != nil { // not before: the server limits connections from one address without credentials
		return 0, err
	}
	if err := c.await("told of their match", c.n, c.in(protocol.TicketStateCompleted)); err != nil {
		return 0, err
	}
	all := time.Since(begin)
	repeats, err := c.compare()
	if err != nil {
		return 0, err
	}
	fmt.Printf("| %d of %d players | %s | %s | %s | 0 | %d |\n", told, c.n, ms(ready), ms(resumed), ms(all), repeats)
	if repeats > 0 {
		return 0, fmt.Errorf("%d changes were sent to players whose cursor was past them", repeats)
	}
	return told, nil
}

// compare compares what the players were told with what the server has, and returns how
// many changes were sent twice.
func (c *assembly) compare() (repeats int, err error) {
	err = c.each(func(i int, t *protocol.Ticket) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		p := &c.members[i]
		repeats += p.repeats
		if p.ticket.MatchID != t.MatchID || p.ticket.Seq != t.Seq || p.ticket.State != t.State {
			return fmt.Errorf("player %d was told of match %q (%s, change %d) of ticket %s, and the server has %q (%s, change %d)",
				i, p.ticket.MatchID, p.ticket.State, p.ticket.Seq, t.TicketID, t.MatchID, t.State, t.Seq)
		}
		return nil
	})
	return repeats, err
}
