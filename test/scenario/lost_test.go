package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/jackc/pgx/v5"

	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/gameserver"
	"github.com/musterhq/muster/test/node"
)

// losing is a cell whose PostgreSQL has an asynchronous replica.
type losing struct {
	*testing.T
	primary, replica *pgtest.Server
	cluster          *cluster
	place            *node.Place
	servers          []*gameserver.Process
}

func loseCommits(t *testing.T, nodes int) *losing {
	node.Path(t)
	l := &losing{T: t, primary: pgtest.Own(t)}
	l.replica = l.primary.Replica(t)
	l.cluster = openCluster(t, nodes, l.primary.With(l.replica), "default", lease)
	l.place = node.NewPlace(t, node.Client("http://"+l.cluster.front))
	becomes(t, "http://"+l.cluster.args[l.cluster.owner()][1], "the level is raised", owns(newest))
	return l
}

// server starts a game server.
func (l *losing) server() *gameserver.Process {
	l.Helper()
	s := l.place.Server(l.T)
	l.servers = append(l.servers, s)
	return s
}

// session creates a game session with an idempotency token.
func (l *losing) session(token string) string {
	l.Helper()
	return wait.Value(l, "game session "+token+" is made", func() (string, error) {
		g, err := l.place.Create(l.Context(), 4, func(in *gamelift.CreateGameSessionInput) { in.IdempotencyToken = aws.String(token) })
		if err != nil {
			return "", err
		}
		return *g.GameSessionId, nil
	})
}

// seq returns the sequence of the last commit.
func (l *losing) seq() (seq uint64) {
	l.Helper()
	conn, err := pgx.Connect(l.Context(), l.primary.With(l.replica))
	if err != nil {
		l.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(l.Context(), `SELECT "seq" FROM "muster_default"."muster_cell"`).Scan(&seq); err != nil {
		l.Fatal(err)
	}
	return seq
}

// promote makes the replica the primary.
func (l *losing) promote() {
	l.Helper()
	if err := l.primary.Crash(); err != nil {
		l.Fatal(err)
	}
	l.replica.Promote(l.T)
}

// metric returns the value of a metric of a server.
func (l *losing) metric(i int, name string) float64 {
	l.Helper()
	value, err := strconv.ParseFloat(metricOf(l.T, "http://"+l.cluster.args[i][1], name), 64)
	if err != nil {
		return -1
	}
	return value
}

// TestLostCommits_Takeover promotes an asynchronous replica that is behind, after the owner
// died. The next owner knows how much was confirmed: it hands out nothing that may be in use
// by a game session that nobody knows any more, and gives no ARN twice.
func TestLostCommits_Takeover(t *testing.T) {
	l := loseCommits(t, 2)
	for range 3 {
		l.server()
	}
	kept := l.session("kept")
	l.replica.Part(t, l.primary)
	lost := l.session("lost")
	confirmed, owner := l.seq(), l.cluster.owner()
	l.standbyKnows(1-owner, confirmed)
	l.cluster.servers[owner].Kill()
	l.promote()
	now := l.cluster.await(owner)
	events := node.Follow(t, "http://"+l.cluster.args[now][1])
	told := events.Code(t, "COMMITS_LOST")
	if !strings.Contains(told.Message, "2 game server processes get no game session") {
		t.Errorf("the event says: %s", told.Message)
	}
	for _, s := range l.servers {
		<-s.Returned()
	}
	if again := l.session("kept"); again != kept {
		t.Errorf("the game session that was kept is %s, and now %s", kept, again)
	}
	for range 20 { // the processes are back, and may host what nobody knows
		_, err := l.place.TryCreate(t.Context(), 4, func(in *gamelift.CreateGameSessionInput) { in.IdempotencyToken = aws.String("lost") })
		if _, full := errors.AsType[*types.FleetCapacityExceededException](err); !full {
			t.Fatalf("a process that may host a game session is used: %v", err)
		}
	}
	if n := l.metric(now, "muster_processes_in_doubt"); n != 2 {
		t.Errorf("%v processes are in doubt, want 2", n)
	}
	if n := l.metric(now, "muster_store_lost_commits_total"); n < 1 {
		t.Errorf("%v commits were lost", n)
	}
	fresh := l.server()
	again := l.session("lost")
	if again == lost || !strings.HasPrefix(again, lost+"-") || l.session("lost") != again {
		t.Errorf("the lost game session %s is made again as %s, then as %s", lost, again, l.session("lost"))
	}
	<-fresh.Started()
	if err := hostedOnce(l.servers); err != nil {
		t.Error(err)
	}
}

// standbyKnows waits until a standby has written down that a sequence was confirmed.
func (l *losing) standbyKnows(i int, seq uint64) {
	l.Helper()
	wait.For(l, fmt.Sprintf("the standby knows of %d", seq), func() error {
		text, _ := os.ReadFile(filepath.Join(l.cluster.args[i][3], "confirmed.postgres.default"))
		if known, _ := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); known < seq {
			return fmt.Errorf("it knows of %q", text)
		}
		return nil
	})
}

// TestLostCommits_OwnerStays promotes an asynchronous replica that is behind while the owner
// goes on. It writes again what was lost, so nobody notices.
func TestLostCommits_OwnerStays(t *testing.T) {
	l := loseCommits(t, 1)
	l.server()
	l.server()
	kept := l.session("kept")
	l.replica.Part(t, l.primary)
	lost := l.session("lost")
	for i := range 20 {
		name := fmt.Sprintf("custom-lost-%d", i)
		if _, err := l.place.Client.CreateLocation(t.Context(), &gamelift.CreateLocationInput{LocationName: &name}); err != nil {
			t.Fatal(err)
		}
	}
	third := l.server()
	l.promote()
	if again := l.session("lost"); again != lost {
		t.Errorf("game session %s became %s", lost, again)
	}
	if again := l.session("kept"); again != kept {
		t.Errorf("game session %s became %s", kept, again)
	}
	l.session("new") // on the process that became ready when nothing was kept any more
	<-third.Started()
	told := node.Follow(t, "http://"+l.cluster.args[0][1]).Code(t, "COMMITS_LOST")
	if !strings.Contains(told.Message, "the owner has written them again") || l.metric(0, "muster_store_lost_commits_total") < 20 {
		t.Errorf("the event says: %s", told.Message)
	}
	found, err := l.place.Client.ListLocations(t.Context(), &gamelift.ListLocationsInput{Filters: []types.LocationFilter{types.LocationFilterCustom}})
	if err != nil || len(found.Locations) < 21 {
		t.Errorf("%d locations are left of 21, %v", len(found.Locations), err)
	}
	if err := hostedOnce(l.servers); err != nil {
		t.Error(err)
	}
}
