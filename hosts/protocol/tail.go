package protocol

import "time"

// Tail requests the end of what a running process has written, and what it used lately. It is
// sent only to agents whose Facts say that they answer.
type Tail struct {
	ID         string // of the request
	InstanceID string
	ProcessID  string
	Most       int // bytes of each stream: at most MaxTail; 0 asks for none
}

// MaxTail bounds what is asked of one stream, in bytes.
const MaxTail = 64 << 10

// Tailed answers Tail.
type Tailed struct {
	ID      string
	Problem string    `json:",omitempty"` // why there is nothing, a sentence for people
	Streams []Stream  `json:",omitempty"`
	Used    []UsageAt `json:",omitempty"` // of the last minutes, oldest first
}

// Stream is the end of one of a process's outputs.
type Stream struct {
	Name string // output, or errors if these are separate
	Text []byte
	End  int64 `json:",omitempty"` // how many bytes were written to the current file; 0 if it is not known
}

// UsageAt is what a process used at a time.
type UsageAt struct {
	At time.Time
	Usage
}
