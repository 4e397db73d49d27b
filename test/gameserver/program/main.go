// Command program is a game server for stories in other languages. It reads its
// identity from the environment variables of AWS's Server SDK, and then uses lines of
// text: it reads commands from standard input and reports events on standard output.
//
//	in: accept GAME-SESSION PLAYER-SESSION   remove GAME-SESSION PLAYER-SESSION   end
//	out: ready   activated GAME-SESSION   accepted PLAYER-SESSION   removed PLAYER-SESSION
//	     refused REASON   terminated   ended
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/musterhq/muster/test/gameserver"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "game server:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	p, err := gameserver.Start(ctx, gameserver.Options{
		Endpoint: os.Getenv("GAMELIFT_SDK_WEBSOCKET_URL"), Token: os.Getenv("GAMELIFT_SDK_AUTH_TOKEN"),
		FleetID: os.Getenv("GAMELIFT_SDK_FLEET_ID"), ComputeName: os.Getenv("GAMELIFT_SDK_HOST_ID"),
		ProcessID: os.Getenv("GAMELIFT_SDK_PROCESS_ID"),
	})
	if err != nil {
		return err
	}
	say := speaker()
	say("ready")
	go obey(ctx, p, say)
	for {
		select {
		case id := <-p.Activated():
			say("activated", id)
		case <-p.Terminated():
			say("terminated")
		case <-p.Done():
			say("ended")
			return nil
		}
	}
}

// speaker returns a function that writes one line at a time.
func speaker() func(words ...string) {
	var mu sync.Mutex
	return func(words ...string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Println(strings.Join(words, " "))
	}
}

// obey carries out the commands on standard input; at its end the process ends.
func obey(ctx context.Context, p *gameserver.Process, say func(...string)) {
	defer p.Kill()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if done, err := do(ctx, p, words); err != nil {
			say("refused", err.Error())
		} else if done != "" {
			say(done)
		}
	}
}

func do(ctx context.Context, p *gameserver.Process, words []string) (done string, err error) {
	switch {
	case len(words) == 3 && words[0] == "accept":
		return "accepted " + words[2], p.Accept(ctx, words[1], words[2])
	case len(words) == 3 && words[0] == "remove":
		return "removed " + words[2], p.Remove(ctx, words[1], words[2])
	case len(words) == 1 && words[0] == "end":
		return "", p.End(ctx)
	}
	return "", fmt.Errorf("the words are accept, remove and end, not %q", words)
}
