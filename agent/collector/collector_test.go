package collector

import (
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"testing"

	"github.com/musterhq/muster/agent/handover"
	"github.com/musterhq/muster/internal/wait"
)

func listen(t *testing.T) *Collector {
	t.Helper()
	c, err := Listen(0, 0, &handover.Sockets{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// The datagrams are those of AWS's Go SDK, and the C++ SDK's with its final NUL.
func TestCollector_KeepsMetrics(t *testing.T) {
	t.Parallel()
	c := listen(t)
	port, _ := c.Ports()
	to, err := net.Dial("udp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	fmt.Fprint(to, "server.up:1|g|#gamelift_process_id:p1,session_id:arn:aws:gamelift:x/y,process_pid:13288\nserver.bytes:5|c|#gamelift_process_id:p1\n")
	fmt.Fprint(to, "server.bytes:7|c|#gamelift_process_id:p1\x00")
	fmt.Fprint(to, "nonsense\n:|\nx:y|g|#gamelift_process_id:p1\nserver.tick.p90:16.5|ms|#process_pid:1,gamelift_process_id:p1\n")
	want := map[string]float64{"server.up": 1, "server.bytes": 12, "server.tick.p90": 16.5}
	wait.For(t, "the metrics are kept", func() error {
		if got := c.Metrics("p1"); !maps.Equal(got, want) {
			return fmt.Errorf("kept %v, want %v", got, want)
		}
		return nil
	})
	c.Forget("p1")
	if got := c.Metrics("p1"); len(got) != 0 {
		t.Errorf("after the end: %v", got)
	}
}

func TestCollector_Hears(t *testing.T) {
	t.Parallel()
	c := listen(t)
	_, port := c.Ports()
	call := func(path string) int {
		res, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d%s", port, path))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	for _, path := range []string{"/register?process_pid=7", "/update?process_pid=7&session_id=arn:aws:gamelift:a/b", "/register?process_pid=8", "/deregister?process_pid=8"} {
		if status := call(path); status != http.StatusOK {
			t.Errorf("%s: status %d", path, status)
		}
	}
	if status := call("/register"); status != http.StatusBadRequest {
		t.Errorf("without a process: status %d", status)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("server.up:1|g|#gamelift_process_id:p1")
	f.Add("a:-1|g|#")
	f.Add("a:|g")
	f.Fuzz(func(t *testing.T, line string) {
		if s, ok := parse(line); ok && (s.process == "" || s.name == "") {
			t.Fatalf("%q gives %+v", line, s)
		}
	})
}
