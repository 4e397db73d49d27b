package pod

import (
	"fmt"

	"github.com/musterhq/muster/hosts/protocol"
)

// role says how a pod runs a container.
type role int

const (
	regular role = iota // beside the others
	sidecar             // started, and healthy if it has a check, before what follows it
	before              // has ended with success before what follows it
)

// order returns the containers in the order of their starts, and the role of each. A
// container that others wait for is started before them: as a sidecar, or as an init
// container if they wait for its end. Only the game server's container is regular
// although others wait for its start: the kubelet starts regular containers in the order of
// the pod.
func order(all []protocol.Container) ([]*protocol.Container, map[string]role, error) {
	byName, roles := map[string]*protocol.Container{}, map[string]role{}
	for n := range all {
		byName[all[n].Name] = &all[n]
	}
	for _, c := range all {
		for _, d := range c.DependsOn {
			on := byName[d.Container]
			switch {
			case on == nil:
				return nil, nil, fmt.Errorf("container %s depends on %s, which is not in the group", c.Name, d.Container)
			case d.Condition == "COMPLETE" || d.Condition == "SUCCESS":
				if roles[on.Name] == sidecar {
					return nil, nil, fmt.Errorf("one container waits for the start of %s and another for its end, which a pod cannot express", on.Name)
				}
				roles[on.Name] = before
			case on.Game && d.Condition == "HEALTHY":
				return nil, nil, fmt.Errorf("container %s waits until the game server is HEALTHY, which a pod cannot express; let it depend on START", c.Name)
			case !on.Game && roles[on.Name] == before:
				return nil, nil, fmt.Errorf("one container waits for the start of %s and another for its end, which a pod cannot express", on.Name)
			case !on.Game:
				roles[on.Name] = sidecar
			}
		}
	}
	var sorted []*protocol.Container
	visited := map[string]bool{}
	var visit func(c *protocol.Container) error
	visit = func(c *protocol.Container) error {
		if visited[c.Name] {
			return nil
		}
		visited[c.Name] = true // definitions have no cycles
		for _, d := range c.DependsOn {
			if byName[d.Container].Game && roles[c.Name] != regular {
				return fmt.Errorf("container %s must start before others and after the game server, which a pod cannot express", c.Name)
			}
			if err := visit(byName[d.Container]); err != nil {
				return err
			}
		}
		sorted = append(sorted, c)
		return nil
	}
	for n := range all {
		if err := visit(&all[n]); err != nil {
			return nil, nil, err
		}
	}
	return sorted, roles, nil
}
