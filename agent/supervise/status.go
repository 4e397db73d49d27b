package supervise

// status is a process's end as reported by the system.
type status struct {
	known  bool
	code   int
	signal string
}

func unknown() status { return status{code: -1} }

// runVariable carries a run's id in its environment.
const runVariable = "MUSTER_RUN_ID"
