package fleet

// Containers is the additional configuration of a managed fleet whose instances run
// container groups in place of a build's processes (ComputeType CONTAINER).
type Containers struct {
	Game        *Group   `json:"game,omitzero"`         // runs the game servers; nil: none is set yet
	PerInstance *Group   `json:"per_instance,omitzero"` // runs once on each instance; nil: none
	Copies      int      `json:"copies,omitzero"`       // GameServerContainerGroupsPerInstance; 0: as many as fit
	Ports       PortSpan `json:"ports,omitzero"`        // InstanceConnectionPortRange; zero: chosen by Muster
	Role        string   `json:"role"`
	Logs        Logs     `json:"logs,omitzero"`
	Deployment  string   `json:"deployment,omitzero"` // id of the latest deployment
}

// Group is the version of a container group definition that a fleet runs, with what the
// planning of instances needs of it. Versions never change.
type Group struct {
	Name      string `json:"name"`
	Version   int    `json:"version"`
	MemoryMiB int    `json:"memory_mib"`
	CPUMillis int    `json:"cpu_millis"`
	Ports     int    `json:"ports,omitzero"` // of all its containers
}

// PortSpan is a range of ports; both ends belong to it.
type PortSpan struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Logs says where the output of containers is kept (LogConfiguration).
type Logs struct {
	Destination string `json:"destination"` // NONE, CLOUDWATCH or S3
	Bucket      string `json:"bucket,omitzero"`
	LogGroup    string `json:"log_group,omitzero"`
}
