// Command troubled is a game server that misbehaves in the way that its argument
// names:
//
//	hung    works until a player connects to its game session, then reports that it
//	        is unhealthy and ignores everything it is told
//	hungry  takes memory until it is stopped
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/musterhq/muster/test/gameserver"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "troubled:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("say how to behave, and nothing else: %q", args)
	}
	switch args[0] {
	case "hung":
		return hang(ctx)
	case "hungry":
		eat()
	}
	return fmt.Errorf("no trouble is called %q", args[0])
}

// hang hosts a game session and, from its first player on, only reports that it is
// unhealthy.
func hang(ctx context.Context) error {
	port, err := strconv.Atoi(os.Getenv("GAME_PORT"))
	if err != nil {
		return fmt.Errorf("GAME_PORT: %w", err)
	}
	door, err := net.ListenTCP("tcp", &net.TCPAddr{Port: port})
	if err != nil {
		return err
	}
	p, err := gameserver.Start(ctx, gameserver.Options{
		Endpoint: os.Getenv("GAMELIFT_SDK_WEBSOCKET_URL"), Token: os.Getenv("GAMELIFT_SDK_AUTH_TOKEN"),
		FleetID: os.Getenv("GAMELIFT_SDK_FLEET_ID"), ComputeName: os.Getenv("GAMELIFT_SDK_HOST_ID"),
		ProcessID: os.Getenv("GAMELIFT_SDK_PROCESS_ID"), Port: port, Manual: true,
	})
	if err != nil {
		return err
	}
	game := <-p.Started()
	if err := p.Activate(ctx, game.GameSessionID); err != nil {
		return err
	}
	if _, err := door.Accept(); err != nil {
		return err
	}
	for range 3 { // AWS's SDKs take a minute for each
		if err := p.Heartbeat(ctx, gameserver.Unhealthy); err != nil {
			return err
		}
	}
	<-p.Done()
	return nil
}

var eaten [][]byte

// eat allocates memory, and touches it so that it is really used.
func eat() {
	for {
		piece := make([]byte, 16<<20)
		for i := 0; i < len(piece); i += 4096 {
			piece[i] = 1
		}
		eaten = append(eaten, piece)
	}
}
