package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/musterhq/muster/test/node"
)

// start measures how long `muster local` takes to its ready line and to the demo's
// first ACTIVE game session, with new data each time.
func start(s settings) error {
	var ready, active []time.Duration
	for range s.rounds {
		r, a, err := startOnce(s.bin)
		if err != nil {
			return err
		}
		ready, active = append(ready, r), append(active, a)
	}
	fmt.Println("| starts | ready, median | ready, slowest | first ACTIVE session, median | slowest |")
	fmt.Println("|---|---|---|---|---|")
	slices.Sort(ready)
	slices.Sort(active)
	last, middle := s.rounds-1, s.rounds/2
	fmt.Printf("| %d | %s | %s | %s | %s |\n", s.rounds, ms(ready[middle]), ms(ready[last]), ms(active[middle]), ms(active[last]))
	return nil
}

func ms(d time.Duration) string { return d.Round(time.Millisecond).String() }

func startOnce(bin string) (ready, active time.Duration, err error) {
	dir, err := os.MkdirTemp("", "muster-load-")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	begin := time.Now()
	server, err := node.Run(bin, "local", "--listen", "127.0.0.1:0", "--data", dir, "--log-level", "warn")
	if err != nil {
		return 0, 0, err
	}
	defer server.Stop() // its game servers end with it
	response, err := http.Get(server.URL + "/console/api/events?follow=true&after=0")
	if err != nil {
		return 0, 0, err
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		var e node.Event
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Code == "GAME_SESSION_ACTIVATED" {
			return server.Ready, time.Since(begin), nil
		}
	}
	return 0, 0, fmt.Errorf("no game session became ACTIVE\n%s", server.Log())
}
