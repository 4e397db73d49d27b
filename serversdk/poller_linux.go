package serversdk

import (
	"os"
	"sync"
	"syscall"
	"time"
)

// canPark reports whether this system has a poller.
const canPark = true

// poller waits for sockets that have something to read in place of a goroutine each, whose
// stack is most of what an idle connection takes.
type poller struct {
	mu     sync.Mutex
	fd     int
	file   *os.File        // of fd, epoll, which itself waits in Go's runtime; nil until the first watch
	parked map[int32]*conn // by file descriptor
	closed bool
}

// watch starts the goroutine of a connection again, once, when its file descriptor can be
// read or its peer has gone. It reports false if the system refuses.
func (p *poller) watch(fd int32, c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.file == nil && !p.start() {
		return false
	}
	event := syscall.EpollEvent{Fd: fd, Events: syscall.EPOLLIN | syscall.EPOLLRDHUP | syscall.EPOLLONESHOT}
	err := syscall.EpollCtl(p.fd, syscall.EPOLL_CTL_MOD, int(fd), &event)
	if err == syscall.ENOENT { // watched for the first time
		err = syscall.EpollCtl(p.fd, syscall.EPOLL_CTL_ADD, int(fd), &event)
	}
	if err == nil {
		p.parked[fd] = c
	}
	return err == nil
}

// forget ends the watch of a connection that is about to be closed.
func (p *poller) forget(fd int32, c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.parked[fd] == c {
		delete(p.parked, fd)
	}
}

// start opens epoll. p.mu must be held.
func (p *poller) start() bool {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return false
	}
	syscall.SetNonblock(fd, true)
	file := os.NewFile(uintptr(fd), "epoll")
	if file.SetReadDeadline(time.Time{}) != nil { // it cannot wait in the runtime
		file.Close()
		return false
	}
	p.fd, p.file, p.parked = fd, file, map[int32]*conn{}
	go p.run(file)
	return true
}

// run wakes connections until the poller is closed or fails. Then it wakes all that are
// left, and none is parked again.
func (p *poller) run(file *os.File) {
	raw, err := file.SyscallConn()
	events, n := make([]syscall.EpollEvent, 128), 0
	for err == nil {
		err = raw.Read(func(epoll uintptr) bool {
			n, _ = syscall.EpollWait(int(epoll), events, 0)
			return n > 0
		})
		for _, event := range events[:max(n, 0)] {
			p.mu.Lock()
			c := p.parked[event.Fd]
			delete(p.parked, event.Fd)
			p.mu.Unlock()
			if c != nil {
				c.unpark()
			}
		}
		n = 0
	}
	p.mu.Lock()
	left := p.parked
	p.closed, p.parked = true, nil
	p.mu.Unlock()
	for _, c := range left {
		c.unpark()
	}
}

func (p *poller) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed = true; p.file != nil {
		p.file.Close()
	}
}
