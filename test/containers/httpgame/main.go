// Command httpgame is a game server without an SDK: it uses the HTTP interface alone, and
// its game is an echo. Its player presents a player session in the first line.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"time"
)

// status is the part of the state that the game needs.
type status struct {
	Version  uint64
	State    string
	Session  *struct{}
	PlayerID string `json:"player_id"`
	Code     string
}

// muster sends a request until there is an answer.
func muster(method, path string, body any) (answer status) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			log.Fatal(err)
		}
	}
	for ; ; time.Sleep(100 * time.Millisecond) {
		r, err := http.NewRequest(method, os.Getenv("MUSTER_GAME_URL")+path, bytes.NewReader(text))
		if err != nil {
			log.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+os.Getenv("MUSTER_GAME_TOKEN"))
		res, err := http.DefaultClient.Do(r)
		if err != nil || res.StatusCode == http.StatusServiceUnavailable {
			continue
		}
		if res.StatusCode != http.StatusNoContent {
			err = json.NewDecoder(res.Body).Decode(&answer)
		}
		res.Body.Close()
		if err == nil {
			return answer
		}
	}
}

func main() {
	l, err := net.Listen("tcp", ":"+os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	muster("POST", "/ready", struct{}{})
	for now := muster("GET", "/session?wait=30", nil); now.Session == nil; now = muster("GET", "/session?wait=30", nil) {
		if now.State == "ending" {
			muster("POST", "/end", struct{}{})
			return
		}
	}
	muster("POST", "/session/activate", struct{}{})
	conn, err := l.Accept()
	if err != nil {
		log.Fatal(err)
	}
	lines := bufio.NewScanner(conn)
	lines.Scan()
	session := lines.Text()
	who := muster("POST", "/players", map[string]string{"player_session_id": session})
	fmt.Fprintln(conn, "welcome", who.PlayerID, who.Code)
	for lines.Scan() {
		fmt.Fprintln(conn, lines.Text())
	}
	muster("DELETE", "/players/"+session, nil)
	muster("POST", "/end", struct{}{})
}
