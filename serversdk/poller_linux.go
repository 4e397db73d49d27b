package serversdk

import (
	"os"
	"sync"
	"syscall"
	"time"
)

// poller waits for sockets that have something to read in place of a goroutine each, whose
// stack is most of what an idle connection takes.
type poller struct {
	mu     sync.Mutex
	file   *os.File        // of epoll, which itself waits in Go's runtime; nil until the first watch
	parked map[int32]*conn // by file descriptor
	closed bool
}

// watch has wake called once when a file descriptor can be read or its peer has gone. It
// reports false if the system refuses.
func (p *poller) watch(fd int32, c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file == nil && !p.start() {
		return false
	}
	event := syscall.EpollEvent{Fd: fd, Events: syscall.EPOLLIN | syscall.EPOLLRDHUP | syscall.EPOLLONESHOT}
	err := p.control(syscall.EPOLL_CTL_MOD, &event)
	if err == syscall.ENOENT { // watched for the first time
		err = p.control(syscall.EPOLL_CTL_ADD, &event)
	}
	if err == nil {
		p.parked[fd] = c
	}
	return err == nil
}

// forget ends the watch of a connection that is about to be closed.
func (p *poller) forget(fd int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.parked, fd)
}

// start opens epoll. p.mu must be held.
func (p *poller) start() bool {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil || p.closed || syscall.SetNonblock(fd, true) != nil {
		syscall.Close(fd)
		return false
	}
	file := os.NewFile(uintptr(fd), "epoll")
	if file.SetReadDeadline(time.Time{}) != nil { // it cannot wait in the runtime
		file.Close()
		return false
	}
	p.file, p.parked = file, map[int32]*conn{}
	go p.run(file)
	return true
}

func (p *poller) control(op int, event *syscall.EpollEvent) (err error) {
	raw, err := p.file.SyscallConn()
	if err != nil {
		return err
	}
	if outer := raw.Control(func(epoll uintptr) { err = syscall.EpollCtl(int(epoll), op, int(event.Fd), event) }); outer != nil {
		return outer
	}
	return err
}

// run wakes connections until the poller is closed.
func (p *poller) run(file *os.File) {
	raw, err := file.SyscallConn()
	if err != nil {
		return
	}
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
}

func (p *poller) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed = true; p.file != nil {
		p.file.Close()
	}
}
