package wrap

import "os"

// interrupt ends the program at once: Windows has no softer way that every
// program understands.
func interrupt(p *os.Process) error { return p.Kill() }
