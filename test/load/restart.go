package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/test/gameserver"
	"github.com/musterhq/muster/test/node"
)

// hosted returns how many of the game servers of a restart host a game session.
func hosted(n int) int { return n / 10 }

// firstRetry is how long a game server waits after an attempt to reconnect, as AWS's
// SDKs do at first.
const firstRetry = 4 * time.Second

// restart runs W9: n game servers are connected and a tenth of them host a game
// session; the server is killed and restarted, and the time is measured until each of
// them is usable as before. It also measures a round of heartbeats.
func restart(s settings) error {
	if err := raiseFileLimit(); err != nil {
		return err
	}
	listen, err := freeAddress() // the game servers reconnect to the same address
	if err != nil {
		return err
	}
	server, err := runFresh(s.bin, listen, "error")
	if err != nil {
		return err
	}
	defer server.drop()
	ctx := context.Background()
	place, err := server.place(ctx)
	if err != nil {
		return err
	}
	all, err := connect(ctx, place, s.n)
	if err != nil {
		return err
	}
	if _, err := together(32, hosted(s.n), func(int) error {
		_, err := place.Create(ctx, 10)
		return err
	}); err != nil {
		return err
	}
	if err := heartbeats(ctx, server.Process, all); err != nil {
		return err
	}
	ready, back, err := outage(ctx, server, all)
	if err != nil {
		return err
	}
	return compare(ctx, place, len(all), ready, back)
}

// outage kills the server and restarts it. It returns the times from then until the
// server is ready and until all game servers are usable.
func outage(ctx context.Context, server *fresh, all []*gameserver.Process) (ready, back time.Duration, err error) {
	server.Kill()
	began := time.Now()
	if err := server.again(); err != nil {
		return 0, 0, err
	}
	ready = time.Since(began)
	err = usable(ctx, all)
	return ready, time.Since(began), err
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// connect starts n game servers that are ready.
func connect(ctx context.Context, place *node.Place, n int) ([]*gameserver.Process, error) {
	places, err := spread(ctx, place, n)
	if err != nil {
		return nil, err
	}
	all := make([]*gameserver.Process, n)
	_, err = together(32, n, func(i int) error {
		o := places[i/aCompute].Options()
		o.Retry, o.Timeout, o.Port = firstRetry, time.Minute, 1024+i%aCompute
		var err error
		all[i], err = gameserver.Start(ctx, o)
		return err
	})
	return all, err
}

// heartbeats makes each game server report its health once, and prints the server's
// processor time for that; normally it is spread over a minute.
func heartbeats(ctx context.Context, server *node.Process, all []*gameserver.Process) error {
	before, err := processorOf(server.PID())
	if err != nil {
		return err
	}
	if _, err := together(64, len(all), func(i int) error { return all[i].Heartbeat(ctx, gameserver.Healthy) }); err != nil {
		return err
	}
	after, err := processorOf(server.PID())
	if err != nil {
		return err
	}
	memory, err := resident(server.PID())
	fmt.Printf("%d heartbeats take %s of the server's processor time, which is %.2f %% of one processor; it has %.0f MiB\n",
		len(all), (after - before).Round(time.Millisecond), 100*(after-before).Seconds()/60, memory/(1<<20))
	return err
}

// processorOf returns the processor time of a process; Linux counts it in hundredths
// of a second.
func processorOf(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	const userAt, systemAt = 14 - 3, 15 - 3
	if len(fields) <= systemAt {
		return 0, fmt.Errorf("process %d has no times", pid)
	}
	user, err := strconv.Atoi(fields[userAt])
	if err != nil {
		return 0, err
	}
	system, err := strconv.Atoi(fields[systemAt])
	return time.Duration(user+system) * 10 * time.Millisecond, err
}

// usable waits until each game server has reconnected and reported its health.
func usable(ctx context.Context, all []*gameserver.Process) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	_, err := together(256, len(all), func(i int) error {
		for all[i].Connections() < 2 {
			select {
			case <-all[i].Returned():
			case <-all[i].Done():
				return fmt.Errorf("game server %s has ended", all[i].ID())
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return all[i].Heartbeat(ctx, gameserver.Healthy)
	})
	return err
}

// compare prints the results, and fails if something was lost.
func compare(ctx context.Context, place *node.Place, n int, ready, back time.Duration) error {
	out, err := place.Client.DescribeFleetUtilization(ctx, &gamelift.DescribeFleetUtilizationInput{FleetIds: []string{place.FleetID}})
	if err != nil {
		return err
	}
	processes, sessions := int(aws.ToInt32(out.FleetUtilization[0].ActiveServerProcessCount)), int(aws.ToInt32(out.FleetUtilization[0].ActiveGameSessionCount))
	if _, err := place.Create(ctx, 10); err != nil {
		return fmt.Errorf("no game session can be made: %w", err)
	}
	fmt.Println("| connected game servers | game sessions on them | ready again after | all usable after | processes, game sessions lost |")
	fmt.Println("|---|---|---|---|---|")
	fmt.Printf("| %d | %d | %s | %s | %d, %d |\n", n, hosted(n), ms(ready), ms(back), n-processes, hosted(n)-sessions)
	if processes != n || sessions != hosted(n) {
		return fmt.Errorf("%d of %d processes and %d of %d game sessions are left", processes, n, sessions, hosted(n))
	}
	return nil
}
