// Command plain is a game server without an SDK: it listens on the UDP port that
// follows -port and answers every datagram with its arguments and the name of its
// game session. The datagram "end" ends it, and "crash" does so with exit code 5.
package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "plain:", err)
		os.Exit(5)
	}
}

func run(args []string) error {
	at := slices.Index(args, "-port") + 1
	if at == 0 || at == len(args) {
		return errors.New("no -port is given")
	}
	port, err := strconv.Atoi(args[at])
	if err != nil {
		return err
	}
	door, err := net.ListenUDP("udp", &net.UDPAddr{Port: port})
	if err != nil {
		return err
	}
	fmt.Println("plain: open")
	for buf := make([]byte, 1500); ; {
		n, from, err := door.ReadFromUDP(buf)
		if err != nil {
			return err
		}
		switch string(buf[:n]) {
		case "end":
			return nil
		case "crash":
			return errors.New("the map fell apart")
		}
		answer := strings.Join(args, " ") + " in " + os.Getenv("GAME_SESSION_NAME")
		if _, err := door.WriteToUDP([]byte(answer), from); err != nil {
			return err
		}
	}
}
