package wrap

import "os"

// interrupt kills the program: Windows has no softer way that every program
// understands.
func interrupt(p *os.Process) error { return p.Kill() }
