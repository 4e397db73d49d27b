package console

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

var (
	waits = flag.Int("waits", 300, "`tickets` that wait in vain in TestMatchmaker, such as 10000")
	rate  = flag.Int("rate", 20, "`tickets` a second that TestMatchmaker lets another configuration match, such as 100")
	lasts = flag.Duration("lasts", 3*time.Second, "how long it does")
)

// apart keeps apart all those who wait in vain, now and after each of its steps.
const apart = `{"name": "apart", "ruleLanguageVersion": "1.0", "playerAttributes": [{"name": "skill", "type": "number"}],
	"teams": [{"name": "red", "minPlayers": 5, "maxPlayers": 5}, {"name": "blue", "minPlayers": 5, "maxPlayers": 5}],
	"rules": [{"name": "Window", "type": "batchDistance", "batchAttribute": "skill", "maxDistance": 50}],
	"expansions": [{"target": "rules[Window].maxDistance", "steps": [{"waitTimeSeconds": 300, "value": 100}, {"waitTimeSeconds": 900, "value": 200}]}]}`

// anybody matches any two.
const anybody = `{"name": "anybody", "ruleLanguageVersion": "1.0", "teams": [{"name": "all", "minPlayers": 2, "maxPlayers": 2}]}`

// The page of a configuration with many tickets that cannot be matched shows its counts at once,
// however long its explanation takes, and another configuration goes on. With -waits 10000
// -rate 100 -lasts 1m -v it measures what the pages cost the server and the other configuration.
func TestMatchmaker(t *testing.T) {
	needs(t)
	server := node.Start(t, "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--log-level", "warn")
	c := &crowd{server: server, aws: node.Client(server.URL)}
	node.Matchmaker(t, c.aws, "duels", apart, func(in *gamelift.CreateMatchmakingConfigurationInput) { in.RequestTimeoutSeconds = aws.Int32(43_200) })
	c.together(t, *waits, func(i int) error { return c.look(t.Context(), fmt.Sprintf("waits-%05d", i), float64(1000*i)) })
	for _, name := range []string{"before", "during"} {
		node.Matchmaker(t, c.aws, name, anybody)
	}
	c.match(t, "before", "while nobody looks")
	run(t, "matchmaker.mjs", task{Base: server.URL, About: map[string]any{"tickets": *waits}}, map[string]func(string) any{
		"match": func(when string) any { return c.match(t, "during", when) },
	})
}

// match lets a configuration match tickets at the rate until all are COMPLETED, and returns their
// number.
func (c *crowd) match(t *testing.T, configuration, when string) int {
	t.Helper()
	ctx := t.Context()
	begun, before := time.Now(), c.used(t)
	tick := time.NewTicker(time.Second / time.Duration(*rate))
	defer tick.Stop()
	var starting sync.WaitGroup
	n := int(lasts.Seconds() * float64(*rate))
	took := make([]time.Duration, n)
	for i := range n {
		<-tick.C
		starting.Go(func() {
			id, asked := fmt.Sprint(configuration, "-", i), time.Now()
			if _, err := c.aws.StartMatchmaking(ctx, &gamelift.StartMatchmakingInput{ConfigurationName: &configuration, TicketId: &id, Players: []types.Player{{PlayerId: aws.String("of-" + id)}}}); err != nil {
				t.Error(err)
			}
			took[i] = time.Since(asked)
		})
	}
	starting.Wait()
	spent, over := c.used(t), time.Since(begun)
	waited := wait.Value(t, "all are matched", func() ([]time.Duration, error) { return c.waited(ctx, configuration, n) })
	slices.Sort(took)
	slices.Sort(waited)
	at := func(of []time.Duration, share float64) time.Duration {
		return of[int(share*float64(len(of)-1))].Round(time.Millisecond)
	}
	t.Logf("%s: %d tickets in %v; matched after %v, 99 of 100 within %v, the last after %v; StartMatchmaking took %v, 99 of 100 at most %v; the server used %.0f %% of a processor",
		when, n, over.Round(time.Millisecond), at(waited, .5), at(waited, .99), at(waited, 1), at(took, .5), at(took, .99), 100*(spent.processor-before.processor).Seconds()/over.Seconds())
	return n
}

// waited returns how long the first n tickets of match took until they were COMPLETED.
func (c *crowd) waited(ctx context.Context, configuration string, n int) (all []time.Duration, err error) {
	for from := 0; from < n; from += 10 {
		in := &gamelift.DescribeMatchmakingInput{}
		for i := from; i < min(n, from+10); i++ {
			in.TicketIds = append(in.TicketIds, fmt.Sprint(configuration, "-", i))
		}
		out, err := c.aws.DescribeMatchmaking(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, k := range out.TicketList {
			if k.Status != types.MatchmakingConfigurationStatusCompleted {
				return nil, fmt.Errorf("ticket %s is %s", *k.TicketId, k.Status)
			}
			all = append(all, k.EndTime.Sub(*k.StartTime))
		}
	}
	if len(all) != n {
		return nil, fmt.Errorf("%d of %d tickets are described", len(all), n)
	}
	return all, nil
}
