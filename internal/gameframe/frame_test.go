package gameframe

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// sized returns a request with an exact number of bytes.
func sized(start string, n int) string {
	const end = `"}`
	return start + strings.Repeat("x", n-len(start)-len(end)) + end
}

func TestRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		message     string
		large       bool
		action, id  string
		unreadable  bool
		answerSays  string
		answerEmpty bool
	}{
		"small":   {message: `{"Action":"A","RequestId":"r"}`},
		"largest": {message: sized(`{"Action":"A","RequestId":"r","Data":"`, Max)},
		"one byte more": {
			message: sized(`{"Action":"A","RequestId":"r","Data":"`, Max+1), large: true, action: "A", id: "r",
			answerSays: "the message has 4194305 bytes; at most 4194304 are allowed",
		},
		"id after a list": {message: sized(`{"Players":[{"PlayerId":"p"},{}],"RequestId":"r","Action":"A","Data":"`, 2*Max), large: true, action: "A", id: "r", answerSays: "8388608"},
		"id too late":     {message: `{"Action":"A","Data":"` + strings.Repeat("x", Max) + `","RequestId":"r"}`, large: true, action: "A", answerEmpty: true},
		"id of no text":   {message: sized(`{"Action":1,"RequestId":{},"Data":"`, Max+1), large: true, answerEmpty: true},
		"no object":       {message: strings.Repeat("[", Max+1), large: true, answerEmpty: true},
		"far too large":   {message: strings.Repeat("x", Max+1+maxSkipped), unreadable: true},
	} {
		var got bytes.Buffer
		err := Read(strings.NewReader(c.message), &got)
		large, is := errors.AsType[*TooLarge](err)
		switch {
		case is != c.large:
			t.Errorf("%s: %v", name, err)
		case c.unreadable:
			if err == nil {
				t.Errorf("%s: it is read", name)
			}
		case !c.large:
			if err != nil || got.String() != c.message {
				t.Errorf("%s: read %d bytes, %v", name, got.Len(), err)
			}
		default:
			if large.Size != int64(len(c.message)) || large.Action != c.action || large.RequestID != c.id {
				t.Errorf("%s: %+v", name, large)
			}
			answer := large.Answer()
			if c.answerEmpty != (answer == nil) || !strings.Contains(string(answer), c.answerSays) {
				t.Errorf("%s: answered %s", name, answer)
			}
		}
	}
}

// Whatever a message begins with, its head is that of the whole message.
func FuzzHead(f *testing.F) {
	f.Add(`{"Action":"A","RequestId":"r"}`, 12)
	f.Add(`{"Players":[{"a":{"b":[1,"x"]}}],"RequestId":"r","Action":"A"}`, 40)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		var whole struct {
			Action    string
			RequestID string `json:"RequestId"`
		}
		if json.Unmarshal([]byte(text), &whole) != nil || strings.Count(strings.ToLower(text), "action") > 1 || strings.Count(strings.ToLower(text), "requestid") > 1 || strings.Contains(text, `\`) {
			return
		}
		action, id := head([]byte(text[:min(max(cut, 0), len(text))]))
		if action != "" && action != whole.Action || id != "" && id != whole.RequestID {
			t.Errorf("%q cut at %d: %q, %q", text, cut, action, id)
		}
	})
}
