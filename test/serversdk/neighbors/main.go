// Command neighbors is a game server in a container: it asks AWS's Server SDK for the
// containers of its instance, prints them, and becomes ready.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/model"
	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/server"
)

func main() {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	if err := run(); err != nil {
		fmt.Println("neighbors:", err)
		os.Exit(1)
	}
	<-term
}

func run() error {
	if err := server.InitSDK(server.ServerParameters{}); err != nil { // they are in the environment
		return err
	}
	found, err := server.ListContainersNetworkInfo()
	if err != nil {
		return err
	}
	for _, c := range found.ContainersNetworkInfo {
		fmt.Printf("neighbor %s %s %s %s\n", c.ContainerName, c.ContainerGroupType, c.IPAddress, c.ContainerID)
	}
	return server.ProcessReady(server.ProcessParameters{
		Port:               7777,
		OnStartGameSession: func(model.GameSession) { server.ActivateGameSession() },
		OnProcessTerminate: func() { server.ProcessEnding() },
		OnHealthCheck:      func() bool { return true },
	})
}
