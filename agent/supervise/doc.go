// Package supervise keeps a program running on this machine.
//
// A Supervisor runs one Spec; one execution of it is a run, with its own id. When a run
// ends, another one starts, immediately or after a delay that grows while runs crash
// (restart.go). The package does not depend on fleets, game sessions or protocols.
//
//	waiting ──launch──▶ running ──exit──▶ waiting        Restart.Next returns the delay
//	                       │
//	                       └──Stop, Drain──▶ ended
//
// A run outlives its supervisor. It is started in its own session and process group,
// has no standard input and writes to files, so a supervisor that exits or is killed
// does not disturb it. A record in StateDir identifies it; the next supervisor on that
// StateDir finds the living run by process id and start time and watches it instead of
// starting a duplicate. If a run exits in between, the successor reports it.
//
// When a run's first process ends, the rest of its process group is killed, so
// nothing of a run stays behind.
//
// Taking over needs Linux. On other systems processes are started, watched and
// stopped, but a successor counts its predecessor's run as ended. On Windows there
// is no process group: only the process itself is stopped, immediately.
package supervise
