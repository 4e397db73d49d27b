// Package supervise keeps copies of a program running on this machine.
//
// A Group runs Count copies of one Spec. Each copy has a slot, 0 to Count-1; one
// execution in a slot is a run, with its own id. When a run ends, another one starts
// in its slot, immediately or after a delay that grows while runs crash (restart.go).
// The package does not depend on fleets, game sessions or protocols.
//
//	waiting ──launch──▶ running ──exit──▶ waiting        Restart.Next returns the delay
//	                       │
//	                       └──Stop, Drain──▶ ended
//
// A run outlives its supervisor. It is started in its own session and process group,
// has no standard input and writes to files, so a supervisor that exits or is killed
// does not disturb it. For each slot a record in StateDir identifies its run; the
// next supervisor on that StateDir finds the living runs by process id and start time
// and watches them instead of starting duplicates. If a run exits in between, the
// successor reports it.
//
// When a run's first process ends, the rest of its process group is killed, so
// nothing of a run stays behind in its slot.
//
// Taking over needs Linux. On other systems processes are started, watched and
// stopped, but a successor counts its predecessor's runs as ended. On Windows there
// is no process group: only the process itself is stopped, immediately.
package supervise
