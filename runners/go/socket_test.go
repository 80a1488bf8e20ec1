package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// connected are both ends of a connection on loopback.
func connected(t *testing.T) (*socket, *net.TCPConn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	near, err := dialSocket(context.Background(), listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(near.Close(), far.Close()) })
	return near, far.(*net.TCPConn)
}

// More than the kernel takes at once, in both directions at the same time.
func TestASocketMovesEveryByte(t *testing.T) {
	near, far := connected(t)
	sent := make([]byte, 32<<20)
	_, _ = rand.Read(sent)
	go func() {
		_, _ = io.Copy(far, far)
		_ = far.CloseWrite()
	}()
	written := make(chan error)
	go func() {
		n, err := near.Write(sent)
		if err == nil && n != len(sent) {
			err = io.ErrShortWrite
		}
		written <- errors.Join(err, near.CloseWrite())
	}()
	back, err := io.ReadAll(near)
	if err != nil || !bytes.Equal(back, sent) {
		t.Errorf("%d of %d bytes came back: %v", len(back), len(sent), err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
	if n, err := near.Read(nil); n != 0 || err != nil {
		t.Error("a read of nothing", n, err)
	}
}

func TestASocketWaitsUntilItsDeadline(t *testing.T) {
	near, _ := connected(t)
	_ = near.SetDeadline(time.Now().Add(20 * time.Millisecond))
	n, err := near.Read(make([]byte, 1))
	if code, _ := connectionCode(err); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) || code != "CONNECTION_TIMEOUT" {
		t.Error("read", n, err, code)
	}
	// There before the deadline is set, which is far enough away for a busy machine to begin to write.
	most := make([]byte, 64<<20)
	_ = near.SetDeadline(time.Now().Add(500 * time.Millisecond))
	if n, err := near.Write(most); n <= 0 || n >= len(most) || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("write", n, err)
	}
	_ = near.SetDeadline(time.Time{})
	go func() {
		time.Sleep(20 * time.Millisecond)
		_ = near.Close()
	}()
	if _, err := near.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Error("closed", err)
	}
}

func TestASocketTellsThatItsConnectionIsLost(t *testing.T) {
	near, far := connected(t)
	_ = far.SetLinger(0)
	_ = far.Close()
	_, err := near.Read(make([]byte, 1))
	if code, _ := connectionCode(err); !errors.Is(err, syscall.ECONNRESET) || code != "CONNECTION_LOST" {
		t.Error("read", err, code)
	}
	// The first write after a reset raises SIGPIPE besides.
	n, err := near.Write(make([]byte, 1))
	if code, _ := connectionCode(err); n != 0 || !errors.Is(err, syscall.EPIPE) || code != "CONNECTION_LOST" {
		t.Error("write", n, err, code)
	}
}

func TestADialThatIsRefusedSaysSo(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	_, err = dialSocket(context.Background(), listener.Addr().String())
	if code, _ := connectionCode(err); code != "CONNECTION_REFUSED" {
		t.Error(err, code)
	}
}
