package engine

import "github.com/moby/moby/client"

var listAll = client.ContainerListOptions{All: true}
