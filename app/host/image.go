package host

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/agent/ports"
	"github.com/musterhq/muster/hosts/protocol"
)

// Image is a game server in a container image of this machine's engine, or of a registry.
type Image struct {
	Name   string      // such as mygame:dev
	Ports  []ImagePort // on which it listens; none selects a free one for each copy
	Copies int         // default 1; more require that there are no Ports
	Output io.Writer   // where its output is shown; default: Services.Out
}

// ImagePort is a port of a container, which the machine publishes under the same number.
type ImagePort struct {
	Number   int
	Protocol string // TCP or UDP
}

// What a copy may use, which is more than most machines have.
const (
	memoryMiB = 32 << 10
	cpuMillis = 64_000
)

// imageName names the fleet, the alias and the instance of --image.
const imageName = "image"

// image creates the place of the developer's image and returns how to run it.
func (h *Host) image(ctx context.Context, im Image) (*group.Own, error) {
	place, err := h.s.Make(ctx, imageName, "The game server of muster local --image", Anybody)
	if err != nil {
		return nil, err
	}
	h.place.Store(&place)
	h.tour(place, im.Name, imageName)
	if im.Output == nil {
		im.Output = h.s.Out
	}
	first := someFirstPort()
	d := protocol.Desired{
		InstanceID: h.id, FleetID: place.FleetID, Compute: ComputeName, Location: h.s.Location,
		SDKURL: h.s.GameServerURL, Region: h.s.Region, PortFrom: first, PortTo: lastPort,
	}
	free, err := ports.New(first, lastPort)
	if err != nil {
		return nil, err
	}
	for n := range max(im.Copies, 1) {
		g, err := im.group(n, free)
		if err != nil {
			return nil, fmt.Errorf("image: %w", err)
		}
		d.Groups = append(d.Groups, g)
	}
	return &group.Own{
		Desired: d, Out: im.Output, Token: h.token,
		OnStart: func(id string) { h.watch(ctx, id) },
		OnEnd:   func(id string, how string) { h.ended(ctx, id, how, how) },
	}, nil
}

// group returns the container group of a copy. The number of a port is the same in the
// container and on the machine, because that is the one that the game server reports.
func (im Image) group(n int, free *ports.Range) (protocol.Group, error) {
	c := protocol.Container{Name: "game", Image: im.Name, Game: true, Essential: true}
	for _, p := range im.Ports {
		c.Ports = append(c.Ports, protocol.Port{Container: p.Number, Host: p.Number, Protocol: p.Protocol})
	}
	if len(im.Ports) == 0 {
		port, err := free.Take(time.Now())
		if err != nil {
			return protocol.Group{}, err
		}
		for _, kind := range []string{"UDP", "TCP"} {
			c.Ports = append(c.Ports, protocol.Port{Container: port, Host: port, Protocol: kind})
		}
	}
	c.Environment = []protocol.Variable{{Name: "GAME_PORT", Value: strconv.Itoa(c.Ports[0].Host)}}
	return protocol.Group{Name: strconv.Itoa(n), Compute: ComputeName, Definition: im.Name, MemoryMiB: memoryMiB, CPUMillis: cpuMillis, Containers: []protocol.Container{c}}, nil
}
