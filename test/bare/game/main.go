// Command game is a dedicated server without an SDK: players join with the datagram "join" at the
// UDP port after -port and leave with "leave", A2S_INFO at the port after -query says how many
// there are, and the line "bye" on standard input ends it. The datagram "crash" makes it abort.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"syscall"
)

func main() {
	port, query := flag.Int("port", 0, "UDP port of players"), flag.Int("query", 0, "UDP port of A2S_INFO")
	flag.Parse()
	if err := run(*port, *query); err != nil {
		fmt.Println(err)
		os.Exit(5)
	}
}

func run(port, query int) error {
	players, err := net.ListenUDP("udp", &net.UDPAddr{Port: port})
	if err != nil {
		return err
	}
	browsers, err := net.ListenUDP("udp", &net.UDPAddr{Port: query})
	if err != nil {
		return err
	}
	var there atomic.Int32
	go answer(browsers, &there)
	go obey()
	fmt.Println("the map is loaded")
	for buf := make([]byte, 100); ; {
		n, from, err := players.ReadFromUDP(buf)
		if err != nil {
			return err
		}
		switch string(buf[:n]) {
		case "join":
			there.Add(1)
		case "leave":
			there.Add(-1)
		case "crash":
			fmt.Println("the map fell apart")
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		if _, err := players.WriteToUDP(buf[:n], from); err != nil {
			return err
		}
	}
}

// answer answers A2S_INFO, once it was asked with a challenge.
func answer(at *net.UDPConn, there *atomic.Int32) {
	const challenge = "abcd"
	buf := make([]byte, 100)
	for {
		n, from, err := at.ReadFromUDP(buf)
		if err != nil {
			return
		}
		reply := "\xff\xff\xff\xffA" + challenge
		if n >= 29 && string(buf[25:29]) == challenge {
			reply = fmt.Sprintf("\xff\xff\xff\xffI\x11friday\x00winter\x00game\x00game\x00\x00\x00%c\x08\x00dl\x00\x001\x00", there.Load())
		}
		at.WriteToUDP([]byte(reply), from) // it is asked again otherwise
	}
}

// obey ends the program when it is asked to.
func obey() {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if in.Text() == "bye" {
			fmt.Println("saved, and bye")
			os.Exit(0)
		}
	}
}
