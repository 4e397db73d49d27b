package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/test/node"
)

// tens is a rule set that matches any players, ten against ten.
const tens = `{"name":"tens","ruleLanguageVersion":"1.0",
	"teams":[{"name":"red","minPlayers":10,"maxPlayers":10},{"name":"blue","minPlayers":10,"maxPlayers":10}]}`

// aMatch is how many players a match of tens has.
const aMatch = 20

// mostWritten is how many connections bytes are written to for comparison.
const mostWritten = 2000

// push measures n players who are connected at the same time: logins next to the
// signatures that the processors make, the memory of a connection, a change that all are
// sent, next to writing as many bytes to as many connections, and what such a change and
// the players lose if the server is killed in the middle of it.
func push(s settings) error {
	n := s.n - s.n%aMatch
	if n == 0 {
		return fmt.Errorf("-n is %d; a match needs %d players", s.n, aMatch)
	}
	if err := needFiles(max(n+2*mostWritten+1000, (n+1000)*4/3)); err != nil { // a server has connections for three quarters of them
		return err
	}
	listen, err := freeAddress() // the players return to the same address
	if err != nil {
		return err
	}
	server, err := runFresh(s.bin, listen, "error")
	if err != nil {
		return err
	}
	defer server.drop()
	c := newAssembly(&audience{fresh: server, n: n, tokens: make([]string, n), tickets: make([]string, n), sockets: make([]*websocket.Conn, n)})
	if err := c.prepare(context.Background()); err != nil {
		return err
	}
	if err := c.reach(); err != nil {
		return err
	}
	defer func() { c.conns.close() }()
	defer c.hangUp()
	for _, part := range []func() error{c.logins, func() error { return c.changes(s.idleFor) }, c.outage} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// reach opens the connections for requests.
func (c *assembly) reach() (err error) {
	c.conns, err = dial(strings.TrimPrefix(c.URL, "http://"), atOnce)
	return err
}

// prepare creates the matchmaker "wait", and the rule set that lets go of who waits.
func (c *assembly) prepare(ctx context.Context) error {
	if err := c.configure(ctx); err != nil {
		return err
	}
	_, err := node.Client(c.URL).CreateMatchmakingRuleSet(ctx, &gamelift.CreateMatchmakingRuleSetInput{Name: aws.String("tens"), RuleSetBody: aws.String(tens)})
	return err
}

// rules has the matchmaker match by a rule set, also who waits already: "wait" matches
// nobody, "tens" everybody.
func (c *assembly) rules(name string) error {
	_, err := node.Client(c.URL).UpdateMatchmakingConfiguration(context.Background(), &gamelift.UpdateMatchmakingConfigurationInput{
		Name: aws.String("wait"), RuleSetName: aws.String(name),
	})
	return err
}

// logins measures logins next to signatures.
func (c *assembly) logins() error {
	most, each, err := signatures(2 * time.Second)
	if err != nil {
		return err
	}
	fmt.Printf("| %d players, %d at a time | a second | processor time of the server each | ÷ signatures |\n|---|---|---|---|\n", c.n, atOnce)
	fmt.Printf("| ECDSA P-256 signatures, nothing else | %.0f | %.0f µs | |\n", most, micro(each, 1))
	for _, s := range []step{{"new guest account with its login", c.join}, {"login of a guest", c.comeBack}} {
		var rate float64
		used, err := c.used(func() (err error) { rate, err = together(atOnce, c.n, s.do); return err })
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Printf("| %s | %.0f | %.0f µs | %.2f |\n", s.name, rate, micro(used, c.n), rate/most)
	}
	return nil
}

// signatures returns how many ES256 signatures of a token's size all processors make in a
// second, and the processor time of one.
func signatures(during time.Duration) (rate float64, each time.Duration, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return 0, 0, err
	}
	text := make([]byte, 600)
	used := processor()
	end := time.Now().Add(during)
	counts := make([]int, runtime.NumCPU())
	_, err = together(len(counts), len(counts), func(i int) error {
		for time.Now().Before(end) {
			sum := sha256.Sum256(text)
			if _, _, err := ecdsa.Sign(rand.Reader, key, sum[:]); err != nil {
				return err
			}
			counts[i]++
		}
		return nil
	})
	all := 0
	for _, n := range counts {
		all += n
	}
	return float64(all) / during.Seconds(), (processor() - used) / time.Duration(max(1, all)), err
}

// micro is the microseconds of a duration for each of n.
func micro(d time.Duration, n int) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(n) }
