// The program helper is what the tests' images need besides Muster's own programs.
//
//	helper            keep a pod's namespaces: wait for a signal, and for orphaned processes
//	helper cat FILE   write a file's content
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 0:
		wait()
	case args[0] == "cat" && len(args) == 2:
		text, err := os.ReadFile(args[1])
		if err != nil {
			return err
		}
		_, err = os.Stdout.Write(text)
		return err
	default:
		return fmt.Errorf("no such command: %q", args)
	}
	return nil
}

func wait() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for s := range signals {
		if s != syscall.SIGCHLD {
			return
		}
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
				break
			}
		}
	}
}
