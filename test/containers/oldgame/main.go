// Command oldgame is a game server with Server SDK 3 or 4 in a container: oldgame [FORM], which
// is cpp if left out. It listens on GAME_PORT.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/musterhq/muster/test/legacygame"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	port, err := strconv.Atoi(os.Getenv("GAME_PORT"))
	if err != nil {
		log.Fatal(err)
	}
	form := "cpp"
	if len(os.Args) > 1 {
		form = os.Args[1]
	}
	g := legacygame.Game{Form: form, Ports: []string{"5757", "5758", "5759"}, Port: port}
	if err := g.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
