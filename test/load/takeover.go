package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/jackc/pgx/v5"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/internal/store/postgres"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/session"
	"github.com/musterhq/muster/test/node"
)

// aboard is how many players each game session has.
const aboard = 10

// takeover measures how long calls wait when the owner of a cell is killed, which has n game
// sessions of ten players each: with standbys that keep the state in memory, and with those
// that read it then.
func takeover(s settings) error {
	database, err := pgtest.Start()
	if err != nil {
		return err
	}
	defer database.Stop()
	dir, err := os.MkdirTemp("", "muster-load-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c := &cluster{bin: s.bin, dir: dir, url: database.URL, n: s.n}
	if err := c.fill(context.Background()); err != nil {
		return err
	}
	fmt.Println("| game sessions, players | standbys | time from SIGKILL to the next answer, lease and all: p50 (least, most) | memory of a standby |")
	fmt.Println("|---|---|---|---|")
	for _, kind := range []struct {
		name string
		args []string
	}{{"warm", nil}, {"cold", []string{"--cold-standby"}}} {
		if err := c.rounds(kind.name, s, kind.args); err != nil {
			return err
		}
	}
	return nil
}

// cluster is a cell on PostgreSQL and what its nodes need.
type cluster struct {
	bin, dir, url string
	n             int
	access        [2]string // key id and secret
	fleetID       string
}

// fill makes the game sessions. A node creates the tables, since the house has not all of
// them.
func (c *cluster) fill(ctx context.Context) error {
	if err := os.WriteFile(c.key(), []byte(strings.Repeat("00", 32)), 0o600); err != nil {
		return err
	}
	first, err := c.start(0, nil)
	if err != nil {
		return err
	}
	if err := first.Stop(); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, c.url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var columns string
	if err := conn.QueryRow(ctx, `SELECT "columns" FROM "muster_default"."muster_schema"`).Scan(&columns); err != nil {
		return err
	}
	h, err := openOn(ctx, postgres.New(c.url), c.n)
	if err != nil {
		return err
	}
	c.access, c.fleetID = [2]string{h.key.AccessKeyID, h.key.SecretAccessKey}, h.fleet.ID
	if err := errors.Join(h.crowd(ctx, c.n), h.close()); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `UPDATE "muster_default"."muster_schema" SET "columns" = $1`, columns)
	return err
}

func (c *cluster) key() string { return filepath.Join(c.dir, "master.key") }

// crowd makes n game sessions that are full of players who have come.
func (h *house) crowd(ctx context.Context, n int) error {
	players := make([]session.Joining, aboard)
	for i := range players {
		players[i].PlayerID = fmt.Sprint("player-", i)
	}
	_, err := together(256, n, func(int) error {
		g, err := h.sessions.Create(ctx, session.CreateInput{
			FleetID: h.fleet.ID, Location: location, MaxPlayers: aboard, Name: "load", Data: gameData,
			Properties: []session.Property{{Key: "map", Value: "winter"}},
		})
		if err != nil {
			return err
		}
		if g, err = h.sessions.Get(ctx, g.ID); err != nil {
			return err
		}
		ref := compute.ParseRef(g.ProcessKey)
		if err := h.sessions.Activate(ctx, ref, g.ID); err != nil {
			return err
		}
		seats, err := h.sessions.Players.Reserve(ctx, session.ReserveInput{GameSessionID: g.ID, Players: players})
		for _, seat := range seats {
			if err == nil {
				_, err = h.sessions.Players.Accept(ctx, ref, g.ID, seat.ID)
			}
		}
		return err
	})
	return err
}

// rounds starts three nodes, kills the owner again and again, and prints the times.
func (c *cluster) rounds(kind string, s settings, args []string) error {
	var nodes []*clusterNode
	defer func() {
		for _, m := range nodes {
			m.Kill()
		}
	}()
	for i := range 3 {
		m, err := c.start(i, args)
		if err != nil {
			return err
		}
		nodes = append(nodes, m)
	}
	var took []time.Duration
	memory := 0.0
	for range s.rounds {
		if err := ownerFirst(nodes); err != nil {
			return err
		}
		for _, m := range nodes[1:] {
			if err := m.await(kind); err != nil {
				return err
			}
		}
		used, err := resident(nodes[1].PID())
		if err != nil {
			return err
		}
		memory = max(memory, used)
		one, err := c.kill(nodes)
		if err != nil {
			return err
		}
		took = append(took, one)
		if nodes[0], err = c.start(nodes[0].number, args); err != nil {
			return err
		}
	}
	slices.Sort(took)
	fmt.Printf("| %d, %d | %s | %s (%s, %s) | %.0f MiB |\n", c.n, aboard*c.n, kind, ms(took[len(took)/2]), ms(took[0]), ms(took[len(took)-1]), memory/(1<<20))
	return nil
}

// clusterNode is a node of a cluster.
type clusterNode struct {
	*node.Process
	number int
}

func (c *cluster) start(number int, args []string) (*clusterNode, error) {
	dir := filepath.Join(c.dir, fmt.Sprint("node", number))
	p, err := node.Run(c.bin, append([]string{"serve", "--store", c.url, "--master-key-file", c.key(), "--data", dir, "--blobs", filepath.Join(c.dir, "blobs"),
		"--listen", "127.0.0.1:0", "--insecure-plain-http", "--log-level", "info"}, args...)...)
	return &clusterNode{p, number}, err
}

// readyz returns what the node says of itself.
func (m *clusterNode) readyz() string {
	answer, err := http.Get(m.URL + "/readyz")
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return string(text)
}

func (m *clusterNode) owns() bool { return strings.Contains(m.readyz(), `"role":"owner"`) }

// ownerFirst waits until a node owns the cell, and moves it to the front.
func ownerFirst(nodes []*clusterNode) error {
	for range 1200 {
		if i := slices.IndexFunc(nodes, (*clusterNode).owns); i >= 0 {
			nodes[0], nodes[i] = nodes[i], nodes[0]
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.New("no node owns the cell")
}

// await waits until a standby is of a kind.
func (m *clusterNode) await(kind string) error {
	for range 1200 {
		if strings.Contains(m.readyz(), `"state":"`+kind+`"`) {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("node %d is not %s but %s\n%s", m.number, kind, m.readyz(), m.Log())
}

// kill kills the first node, and returns how long it took until another one answered.
func (c *cluster) kill(nodes []*clusterNode) (time.Duration, error) {
	client := node.ClientAs(nodes[1].URL, c.access[0], c.access[1], func(o *gamelift.Options) { o.RetryMaxAttempts = 100 })
	nodes[0].Kill()
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	for {
		found, err := client.DescribeFleetUtilization(ctx, &gamelift.DescribeFleetUtilizationInput{FleetIds: []string{c.fleetID}})
		if err == nil {
			took := time.Since(began)
			if n := int(aws.ToInt32(found.FleetUtilization[0].ActiveGameSessionCount)); n != c.n {
				return took, fmt.Errorf("%d of %d game sessions are left", n, c.n)
			}
			return took, nil
		}
		if ctx.Err() != nil {
			return 0, err
		}
	}
}
