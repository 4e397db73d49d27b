// Command puppet is the only program in the images of tests. Its environment says what it
// does:
//
//	PUPPET_PRINT=TEXT      prints a line first
//	PUPPET_REPORT=true     prints what it is allowed, as JSON
//	PUPPET_EAT=MIB         uses memory
//	PUPPET_SICK=true       fails its health check, which is puppet check
//	PUPPET_ASK=HOST:PORT   sends a datagram, again until there is an answer, and prints that
//	PUPPET_EXIT=CODE       exits then; otherwise it waits
//	PUPPET_UDP=PORT        answers datagrams with their content
//	PUPPET_TERM=CODE       exits with the code on SIGTERM; ignore: it does not
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Report is what a container is allowed.
type Report struct {
	UID          int
	Capabilities string // effective, hexadecimal
	NoNew        string // no new privileges
	RootErr      string // of writing to the root
	TmpErr       string // of writing to /tmp
	Files        map[string]string
}

const sick = "/tmp/sick"

func main() {
	if len(os.Args) > 1 && os.Args[1] == "check" {
		if _, err := os.Stat(sick); err == nil {
			os.Exit(1)
		}
		return
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	if text := os.Getenv("PUPPET_PRINT"); text != "" {
		fmt.Println(text)
	}
	if os.Getenv("PUPPET_REPORT") != "" {
		report()
	}
	if os.Getenv("PUPPET_SICK") != "" {
		must(os.WriteFile(sick, nil, 0o600))
	}
	if mib := number("PUPPET_EAT"); mib > 0 {
		eat(mib)
	}
	if address := os.Getenv("PUPPET_ASK"); address != "" {
		ask(address)
	}
	if port := number("PUPPET_UDP"); port > 0 {
		go echo(port)
	}
	if code := os.Getenv("PUPPET_EXIT"); code != "" {
		os.Exit(number("PUPPET_EXIT"))
	}
	for range term {
		if os.Getenv("PUPPET_TERM") != "ignore" {
			fmt.Println("terminating")
			os.Exit(number("PUPPET_TERM"))
		}
	}
}

func must(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(99)
	}
}

func number(name string) int {
	n, _ := strconv.Atoi(os.Getenv(name))
	return n
}

func eat(mib int) {
	all := make([]byte, mib<<20)
	for i := 0; i < len(all); i += 4096 {
		all[i] = 1
	}
	fmt.Println("ate", len(all))
}

func ask(address string) {
	conn, err := net.Dial("udp", address)
	must(err)
	answer := make([]byte, 100)
	for {
		_, _ = conn.Write([]byte("hello"))
		_ = conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if n, err := conn.Read(answer); err == nil {
			fmt.Printf("answer %s\n", answer[:n])
			return
		}
	}
}

func echo(port int) {
	conn, err := net.ListenUDP("udp", &net.UDPAddr{Port: port})
	must(err)
	buffer := make([]byte, 1500)
	for {
		n, from, err := conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		_, _ = conn.WriteTo(buffer[:n], from)
	}
}

func report() {
	r := Report{UID: os.Getuid(), Files: map[string]string{}}
	status, err := os.ReadFile("/proc/self/status")
	must(err)
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "CapEff":
			r.Capabilities = strings.TrimSpace(value)
		case "NoNewPrivs":
			r.NoNew = strings.TrimSpace(value)
		}
	}
	if err := os.WriteFile("/written", nil, 0o600); err != nil {
		r.RootErr = err.Error()
	}
	if err := os.WriteFile("/tmp/written", nil, 0o600); err != nil {
		r.TmpErr = err.Error()
	}
	for name := range strings.SplitSeq(os.Getenv("PUPPET_READ"), ",") {
		if content, err := os.ReadFile(name); err == nil {
			r.Files[name] = string(content)
		}
	}
	out, err := json.Marshal(r)
	must(err)
	fmt.Println(string(out))
}
