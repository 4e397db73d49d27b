package agent

import "github.com/musterhq/muster/agent/supervise"

// deposit writes a file of the agent's into a process's own log folder, as evidence of
// how it ended. The process could write to that folder.
func (i *instance) deposit(id, name, text string) {
	dir, err := openTheirs(i.ownLogDir(id))
	if err == nil {
		defer dir.Close()
		err = dir.put(name, text)
	}
	if err != nil {
		i.log.Warn("evidence not kept", "process_id", id, "file", name, "error", err)
	}
}

// lastWord records how a process ended among its logs.
func (i *instance) lastWord(r supervise.Run, cause string) {
	i.deposit(r.ID, "exit.txt", "Started: "+r.Started.UTC().Format(timeForm)+"\n"+cause+"\n")
}

const timeForm = "2006-01-02 15:04:05 UTC"
