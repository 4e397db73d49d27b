//go:build unix

package uploads_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/musterhq/muster/internal/store/sqlite"
)

// keepVariable makes the test binary a server for the folder that it names.
const keepVariable = "UPLOADS_TEST_KEEP"

func TestMain(m *testing.M) {
	if dir := os.Getenv(keepVariable); dir != "" {
		fmt.Fprintln(os.Stderr, keep(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// keep serves a folder until it is killed.
func keep(dir string) error {
	s, err := openShop(context.Background(), sqlite.New(dir), dir+"/blobs", "", true)
	if err != nil {
		return err
	}
	go s.objects.Run(context.Background())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	return http.Serve(listener, s.door)
}

// keeper is a server in its own process.
type keeper struct {
	cmd  *exec.Cmd
	base string
}

func startKeeper(t *testing.T, dir string) *keeper {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	k := &keeper{cmd: exec.Command(self)}
	k.cmd.Env = append(os.Environ(), keepVariable+"="+dir)
	k.cmd.Stderr = os.Stderr
	out, err := k.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the server did not start: %v", err)
	}
	k.base = strings.TrimSpace(line)
	return k
}

func (k *keeper) kill(t *testing.T) {
	t.Helper()
	if err := k.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	k.cmd.Wait()
}

// No acknowledged upload, single or multipart, is lost if the server is killed during
// others; and no object exists in part.
func TestKill_NoAcknowledgedUploadIsLost(t *testing.T) {
	dir := t.TempDir()
	var mu sync.Mutex
	sent := map[string][32]byte{} // by key
	acknowledged := map[string]bool{}
	for round := range 6 {
		k := startKeeper(t, dir)
		verify(t, k.base, sent, acknowledged)
		var senders sync.WaitGroup
		enough := make(chan struct{}) // closed once enough uploads are acknowledged to kill the server
		var once sync.Once
		first := len(acknowledged)
		for sender := range 4 {
			senders.Go(func() {
				r := rand.New(rand.NewPCG(uint64(round), uint64(sender)))
				for n := 0; ; n++ {
					key := fmt.Sprintf("r%d-s%d-n%d", round, sender, n)
					content := make([]byte, 1+r.IntN(64<<10))
					for i := range content {
						content[i] = byte(r.Uint32())
					}
					mu.Lock()
					sent[key] = sha256.Sum256(content)
					mu.Unlock()
					if send(k.base, key, content, n%3 == 2) != nil {
						return // the server was killed
					}
					mu.Lock()
					acknowledged[key] = true
					if len(acknowledged) >= first+10+round*3 {
						once.Do(func() { close(enough) })
					}
					mu.Unlock()
				}
			})
		}
		ended := make(chan struct{})
		go func() { senders.Wait(); close(ended) }()
		select {
		case <-enough:
		case <-ended:
			t.Fatal("the uploads fail before the server is killed")
		}
		k.kill(t)
		<-ended
	}
	k := startKeeper(t, dir)
	verify(t, k.base, sent, acknowledged)
	k.kill(t)
	t.Logf("%d uploads were acknowledged over 6 kills", len(acknowledged))
}

// verify reads every key that was sent: its content is as sent, or it does not exist if
// it was not acknowledged.
func verify(t *testing.T, base string, sent map[string][32]byte, acknowledged map[string]bool) {
	t.Helper()
	for key, want := range sent {
		res, err := http.Get(base + "/games/" + key)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(res.Body)
		res.Body.Close()
		missing := err == nil && res.StatusCode == http.StatusNotFound
		whole := err == nil && res.StatusCode == http.StatusOK && sha256.Sum256(content) == want
		if !whole && (acknowledged[key] || !missing) {
			t.Errorf("%s: %s, %d bytes, %v; acknowledged: %v", key, res.Status, len(content), err, acknowledged[key])
		}
	}
}

// send uploads an object, in one request or in two parts. A response that is not a
// success is an error too.
func send(base, key string, content []byte, parts bool) error {
	if !parts {
		_, err := tell(http.MethodPut, base+"/games/"+key, content)
		return err
	}
	text, err := tell(http.MethodPost, base+"/games/"+key+"?uploads", nil)
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(text, "<UploadId>")
	id, _, _ := strings.Cut(rest, "<")
	var list strings.Builder
	for n, part := range [][]byte{content[:len(content)/2], content[len(content)/2:]} {
		tag, err := tell(http.MethodPut, fmt.Sprintf("%s/games/%s?uploadId=%s&partNumber=%d", base, key, id, n+1), part)
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>", n+1, tag)
	}
	_, err = tell(http.MethodPost, base+"/games/"+key+"?uploadId="+id, []byte("<CompleteMultipartUpload>"+list.String()+"</CompleteMultipartUpload>"))
	return err
}

// tell sends a request and returns the response's ETag, or its body.
func tell(method, url string, body []byte) (string, error) {
	req, err := http.NewRequest(method, url, strings.NewReader(string(body)))
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return "", err
	}
	if res.StatusCode != http.StatusOK {
		return "", errors.New(res.Status + ": " + string(text))
	}
	if tag := res.Header.Get("ETag"); tag != "" {
		return tag, nil
	}
	return string(text), nil
}
