package main

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
)

// The page is served until the program that holds its standard input ends.
func TestPage_UntilEOF(t *testing.T) {
	t.Parallel()
	stdin, hold := io.Pipe()
	out, stdout := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- runPage(t.Context(), []string{"--until-eof", "--muster", "http://muster.test"}, stdin, stdout, io.Discard)
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	link := strings.TrimSpace(strings.TrimPrefix(line, "ready "))
	answer, err := http.Get(link + "settings.json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if want := `{"url":"http://muster.test","matchmaker":"demo"}`; err != nil || string(text) != want {
		t.Errorf("the settings are %s, %v", text, err)
	}
	hold.Close()
	if code := <-ended; code != exitDone {
		t.Errorf("ended with %d", code)
	}
}
