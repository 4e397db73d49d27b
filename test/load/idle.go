package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/musterhq/muster/test/gameserver"
	"github.com/musterhq/muster/test/node"
)

// idle measures the server's memory without and with n ready game servers that send
// nothing.
func idle(s settings) error {
	if err := raiseFileLimit(); err != nil {
		return err
	}
	server, err := runFresh(s.bin, "127.0.0.1:0", "warn")
	if err != nil {
		return err
	}
	defer server.drop()
	ctx := context.Background()
	place, err := server.place(ctx)
	if err != nil {
		return err
	}
	places, err := spread(ctx, place, s.n)
	if err != nil {
		return err
	}
	before, err := memory(server.Process)
	if err != nil {
		return err
	}
	if _, err := together(32, s.n, func(i int) error {
		_, err := gameserver.Start(ctx, places[i/aCompute].Options())
		return err
	}); err != nil {
		return err
	}
	return report(s, server.Process, before)
}

// report prints what the connections cost immediately and, if requested, after some
// idle time.
func report(s settings, server *node.Process, before usage) error {
	fmt.Println("| idle game server connections | after | resident KiB each | heap and stacks in use, KiB each |")
	fmt.Println("|---|---|---|---|")
	each := func(a, b float64) float64 { return (b - a) / float64(s.n) / 1024 }
	moments := []time.Duration{0}
	if s.idleFor > 0 {
		moments = append(moments, s.idleFor)
	}
	for _, after := range moments {
		time.Sleep(after) // being idle is what is measured
		with, err := memory(server)
		if err != nil {
			return err
		}
		fmt.Printf("| %d | %s | %.1f | %.1f |\n", s.n, after, each(before.resident, with.resident), each(before.used, with.used))
	}
	return nil
}

// aCompute is how many game servers run on one compute.
const aCompute = 200

// spread returns computes for n game servers.
func spread(ctx context.Context, first *node.Place, n int) ([]*node.Place, error) {
	places := []*node.Place{first}
	for len(places)*aCompute < n {
		next, err := first.Beside(ctx, fmt.Sprint("host-", len(places)+1))
		if err != nil {
			return nil, err
		}
		places = append(places, next)
	}
	return places, nil
}

// usage is memory in bytes.
type usage struct{ resident, used float64 }

func memory(server *node.Process) (u usage, err error) {
	response, err := http.Get(server.URL + "/metrics")
	if err != nil {
		return u, err
	}
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return u, err
	}
	for _, name := range []string{"go_memstats_heap_inuse_bytes", "go_memstats_stack_inuse_bytes"} {
		if f := families[name]; f != nil {
			u.used += f.Metric[0].GetGauge().GetValue()
		}
	}
	u.resident, err = resident(server.PID())
	return u, err
}

// resident returns the resident set size of a process.
func resident(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kib * 1024, err
		}
	}
	return 0, fmt.Errorf("process %d has no VmRSS", pid)
}

// raiseFileLimit allows this process and those that it starts as many open files as the
// system lets it.
func raiseFileLimit() error { return needFiles(0) }

// needFiles is like raiseFileLimit, and fails if that is less than a number.
func needFiles(n int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if limit.Max < uint64(n) {
		return fmt.Errorf("%d open files are allowed, and %d are needed: raise the hard limit (ulimit -Hn) or lower -n", limit.Max, n)
	}
	limit.Cur = limit.Max
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
}
