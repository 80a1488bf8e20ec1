package main

import (
	"context"
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// socket is a TCP connection whose reads and writes are raw system calls: Go's scheduler is not told of them. A socket of
// Go's never blocks, so there is nothing to be told; but where the server shares the processors with its clients, `write`
// is where the kernel lets the server run, and Go's monitor, which sees a call last, gives the caller's place to another
// thread, and looks again every 20 µs. That costs a client of a server on loopback a tenth to a third of its processor time.
//
// One goroutine reads at a time, and one writes, as drivers do.
type socket struct {
	*net.TCPConn
	raw              syscall.RawConn
	reading, writing transfer
}

// dialSocket connects as net.Dialer does, and gives up after connectPatience.
func dialSocket(ctx context.Context, address string) (*socket, error) {
	conn, err := (&net.Dialer{Timeout: connectPatience}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	s := &socket{TCPConn: conn.(*net.TCPConn)}
	if s.raw, err = s.SyscallConn(); err != nil {
		_ = conn.Close()
		return nil, err
	}
	s.reading.once = func(fd uintptr) bool { return s.reading.do(syscall.SYS_READ, fd) }
	s.writing.once = func(fd uintptr) bool { return s.writing.do(syscall.SYS_WRITE, fd) }
	return s, nil
}

// Read waits until there is something, or until the deadline.
func (s *socket) Read(to []byte) (int, error) {
	if len(to) == 0 {
		return 0, nil
	}
	s.reading.buffer = to
	if err := s.raw.Read(s.reading.once); err != nil {
		return 0, err
	}
	if err := s.reading.failure("read"); err != nil {
		return 0, err
	}
	if s.reading.count == 0 {
		return 0, io.EOF
	}
	return s.reading.count, nil
}

// Write gives the kernel all of it, or as much as it takes until the deadline.
func (s *socket) Write(from []byte) (written int, err error) {
	for written < len(from) {
		s.writing.buffer = from[written:]
		if err := s.raw.Write(s.writing.once); err != nil {
			return written, err
		}
		if err := s.writing.failure("write"); err != nil {
			return written, err
		}
		written += s.writing.count
	}
	return written, nil
}

// transfer is one direction of a socket.
type transfer struct {
	once   func(fd uintptr) bool // made beforehand: a function made for each call would be allocated
	buffer []byte                // not empty
	count  int                   // bytes moved
	errno  syscall.Errno
}

// do makes the call, and says whether it is over: not if the socket is to be waited for.
func (t *transfer) do(trap, fd uintptr) bool {
	for {
		count, _, errno := syscall.RawSyscall(trap, fd, uintptr(unsafe.Pointer(&t.buffer[0])), uintptr(len(t.buffer)))
		if errno != syscall.EINTR {
			t.count, t.errno = int(count), errno
			return errno != syscall.EAGAIN
		}
	}
}

func (t *transfer) failure(call string) error {
	if t.errno == 0 {
		return nil
	}
	return &net.OpError{Op: call, Net: "tcp", Err: os.NewSyscallError(call, t.errno)}
}
