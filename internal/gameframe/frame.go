// Package gameframe bounds the messages between game server processes and Muster, for
// everything that carries them.
package gameframe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Max is the most bytes that a message may have. The longest ones that the API permits are
// those of a game session with 262,144 characters of game session data and 390,000 of
// matchmaker data, of which JSON makes up to 6 and 4 bytes each.
const Max = 4 << 20

// maxSkipped limits, in bytes, what is read of a message that is too large, so that the
// messages after it can be read.
const maxSkipped = 16 * Max

// TooLarge is the error of a message with more than Max bytes.
type TooLarge struct {
	Size              int64 // bytes
	Action, RequestID string
}

func (t *TooLarge) Error() string {
	return fmt.Sprintf("the message has %d bytes; at most %d are allowed: send fewer players or attributes at a time", t.Size, Max)
}

// Answer returns the message that refuses the request, or nil if it cannot be answered
// because its RequestId is unknown.
func (t *TooLarge) Answer() []byte {
	return Refuse(t.Action, t.RequestID, http.StatusBadRequest, t.Error())
}

// Refuse returns the message that refuses a request with a status as in HTTP, or nil if the
// id is "".
func Refuse(action, id string, status int, why string) []byte {
	if id == "" {
		return nil
	}
	frame, err := json.Marshal(struct {
		Action       string
		RequestID    string `json:"RequestId"`
		StatusCode   int
		ErrorMessage string
	}{action, id, status, why})
	if err != nil {
		panic(err) // text and a number
	}
	return frame
}

// Read appends a message to a buffer, which must be empty. Errors: *TooLarge, after which
// the next message can be read, and those of reading.
func Read(r io.Reader, into *bytes.Buffer) error {
	n, err := into.ReadFrom(io.LimitReader(r, Max+1))
	if err != nil || n <= Max {
		return err
	}
	rest, err := io.Copy(io.Discard, io.LimitReader(r, maxSkipped))
	switch {
	case err != nil:
		return err
	case rest == maxSkipped:
		return fmt.Errorf("the message has %d bytes or more; at most %d are allowed", n+rest, Max)
	}
	t := &TooLarge{Size: n + rest}
	t.Action, t.RequestID = head(into.Bytes())
	return t
}

// head returns the action and the id of the request that begins with text, or "".
func head(text []byte) (action, id string) {
	d := json.NewDecoder(bytes.NewReader(text))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return "", ""
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			break
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			break // it is cut off here
		}
		switch name {
		case "Action":
			_ = json.Unmarshal(value, &action) // another type is no action
		case "RequestId":
			_ = json.Unmarshal(value, &id)
		}
	}
	return action, id
}
