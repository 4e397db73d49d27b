package aws

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/lobby"
	"github.com/musterhq/muster/test/node"
)

const home, europe, asia = "us-east-1", "eu-central-1", "ap-northeast-1"

// inRegion returns AWS's client that signs for a region.
func inRegion(a *app.App, c client.Credentials, region string) *gamelift.Client {
	return node.ClientAs(a.URL(), c.AccessKeyID, c.SecretAccessKey, func(o *gamelift.Options) { o.Region, o.RetryMaxAttempts = region, 1 })
}

// One server with several regions keeps them apart: each AWS client reaches the region that it
// signs for, with the keys of all, and finds it again after a restart.
func TestRegions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	begin := func() (*app.App, client.Credentials) {
		a := node.InProcess(t, func(o *app.Options) {
			o.DataDir, o.Store, o.AcceptAny, o.Regions = dir, "sqlite", false, []string{home, europe, asia}
		})
		return a, firstKey(t, dir)
	}
	a, key := begin()
	fleets := map[string]*node.Place{}
	for _, region := range []string{home, europe, asia} {
		p := node.NewPlace(t, inRegion(a, key, region))
		fleets[region] = p
		if !strings.HasPrefix(p.FleetARN, "arn:aws:gamelift:"+region+":") {
			t.Errorf("a fleet made in %s is %s", region, p.FleetARN)
		}
		if inPath := strings.Contains(p.Endpoint, "/regions/"+region+"/"); inPath != (region != home) {
			t.Errorf("game servers in %s connect to %s", region, p.Endpoint)
		}
	}
	p := fleets[europe]
	p.Server(t)
	g := node.Must(p.Create(t.Context(), 2))(t)
	if !strings.HasPrefix(*g.GameSessionId, "arn:aws:gamelift:"+europe+"::gamesession/"+p.FleetID) {
		t.Errorf("a game session in %s is %s", europe, *g.GameSessionId)
	}
	for region, own := range fleets {
		c := inRegion(a, key, region)
		listed := node.Must(c.ListFleets(t.Context(), &gamelift.ListFleetsInput{}))(t)
		if len(listed.FleetIds) != 1 || listed.FleetIds[0] != own.FleetID {
			t.Errorf("the fleets in %s are %v, want %s", region, listed.FleetIds, own.FleetID)
		}
		for other, theirs := range fleets {
			if other == region {
				continue
			}
			_, err := c.UpdateFleetAttributes(t.Context(), &gamelift.UpdateFleetAttributesInput{FleetId: &theirs.FleetARN, Description: aws.String("x")})
			refused[*types.NotFoundException](t, err, "fleet")
		}
	}
	_, err := inRegion(a, key, "sa-east-1").ListFleets(t.Context(), &gamelift.ListFleetsInput{})
	if err == nil || errorCode(err) != "InvalidSignatureException" || !strings.Contains(err.Error(), "the regions are us-east-1, eu-central-1, ap-northeast-1") {
		t.Errorf("an unknown region: %v", err)
	}
	if status, body := fetch(t, "GET", a.URL()+"/regions/sa-east-1/player/v1/config", "", ""); status != 404 || !strings.Contains(body, asia) {
		t.Errorf("an unknown region in the path: %d %s", status, body)
	}

	// A key that is made in the home region, or through another one, holds everywhere until it
	// is deleted.
	through := &client.Client{Endpoint: a.URL(), Region: asia, Credentials: key}
	made := node.Must(through.Keys().Create(t.Context(), client.KeySpec{Name: "europe", Role: "operator", Scope: client.KeyScope{Resources: []string{"arn:aws:gamelift:" + europe + ":*:fleet/*"}}}))(t)
	scoped := client.Credentials{AccessKeyID: made.ID, SecretAccessKey: made.Secret}
	describe := func(region string) error {
		_, err := inRegion(a, scoped, region).DescribeFleetCapacity(t.Context(), &gamelift.DescribeFleetCapacityInput{FleetIds: []string{fleets[region].FleetID}})
		return err
	}
	wait.Until(t, "the new key holds in Europe", func() bool { return describe(europe) == nil })
	wait.Until(t, "the new key, which is for Europe, is known and denied at home", func() bool { return verdict(describe(home)) == denied })
	if err := through.Keys().Delete(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the deleted key is unknown in Europe", func() bool { return verdict(describe(europe)) == unknown })

	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	a, _ = begin()
	for region, own := range fleets {
		listed := node.Must(inRegion(a, key, region).ListFleets(t.Context(), &gamelift.ListFleetsInput{}))(t)
		if len(listed.FleetIds) != 1 || listed.FleetIds[0] != own.FleetID {
			t.Errorf("after a restart the fleets in %s are %v, want %s", region, listed.FleetIds, own.FleetID)
		}
	}
	if status, body := fetch(t, "GET", a.URL()+"/readyz", "", ""); status != 200 || strings.Count(body, `"status":"ready"`) != 4 {
		t.Errorf("/readyz is %d %s", status, body)
	}
}

// Players have their accounts in the home region. Their tokens hold in every region, until
// they are banned.
func TestRegions_Players(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := node.InProcess(t, func(o *app.Options) {
		o.DataDir, o.AcceptAny, o.Regions = dir, false, []string{home, europe}
		o.Players.Matchmakers = []lobby.Matchmaker{{Name: "duel", Configuration: "duel", Attributes: []lobby.Attribute{{Name: "skill", Type: "number", From: "server", Key: "skill"}}}}
	})
	key := firstKey(t, dir)
	for _, region := range []string{home, europe} {
		makeDuel(t, inRegion(a, key, region))
	}
	base := a.URL() + "/regions/" + europe + "/player/v1"
	player, token := guest(t, a.URL()+"/regions/"+europe)
	if err := signed(t.Context(), key, "gamelift", "PUT", a.URL()+"/player/v1/server/players/"+player+"/data/server/skill", `12`); err != nil {
		t.Fatal(err)
	}
	var made struct {
		ID string `json:"ticket_id"`
	}
	wait.Until(t, "the token holds in Europe", func() bool {
		status, _ := fetch(t, "GET", base+"/matchmaking/tickets", token, "")
		return status == 200
	})
	status, body := fetch(t, "POST", base+"/matchmaking/tickets", token, `{"matchmaker": "duel"}`)
	if status != 201 || json.Unmarshal([]byte(body), &made) != nil {
		t.Fatalf("a ticket in Europe: %d %s", status, body)
	}
	find := func(region string) []types.MatchmakingTicket {
		return node.Must(inRegion(a, key, region).DescribeMatchmaking(t.Context(), &gamelift.DescribeMatchmakingInput{TicketIds: []string{made.ID}}))(t).TicketList
	}
	if found := find(europe); len(found) != 1 || *found[0].Players[0].PlayerAttributes["skill"].N != 12 {
		t.Errorf("the ticket in Europe is %+v; its skill is of the home region's data", found)
	}
	if found := find(home); len(found) != 0 {
		t.Errorf("the ticket of Europe is at home: %+v", found)
	}
	ban := fmt.Sprintf(`{"until": %q, "reason": "test"}`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	if err := signed(t.Context(), key, "gamelift", "PUT", a.URL()+"/player/v1/server/players/"+player+"/ban", ban); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the ban ends the ticket in Europe", func() bool { return find(europe)[0].Status == types.MatchmakingConfigurationStatusCancelled })
	if status, body := fetch(t, "GET", base+"/matchmaking/tickets", token, ""); status != 403 || !strings.Contains(body, "banned") {
		t.Errorf("a banned player in Europe: %d %s", status, body)
	}
}

// makeDuel creates the matchmaking configuration of the test.
func makeDuel(t *testing.T, c *gamelift.Client) {
	t.Helper()
	node.Must(c.CreateMatchmakingRuleSet(t.Context(), &gamelift.CreateMatchmakingRuleSetInput{Name: aws.String("duel"), RuleSetBody: aws.String(
		`{"ruleLanguageVersion": "1.0", "playerAttributes": [{"name": "skill", "type": "number"}], "teams": [{"name": "all", "minPlayers": 2, "maxPlayers": 2}]}`)}))(t)
	node.Must(c.CreateMatchmakingConfiguration(t.Context(), &gamelift.CreateMatchmakingConfigurationInput{
		Name: aws.String("duel"), RuleSetName: aws.String("duel"), RequestTimeoutSeconds: aws.Int32(600), AcceptanceRequired: aws.Bool(false), FlexMatchMode: types.FlexMatchModeStandalone,
	}))(t)
}

// The address of a page of the console names its region, and so do the requests of the page,
// which gets the names of all regions. Two regions can be looked at side by side.
func TestRegions_Console(t *testing.T) {
	t.Parallel()
	a := node.InProcess(t, func(o *app.Options) { o.Regions = []string{home, europe} })
	for prefix, region := range map[string]string{"/regions/" + europe: europe, "/regions/" + home: home, "": home} {
		status, page := fetch(t, "GET", a.URL()+prefix+"/console/fleets?range=6h", "", "")
		if status != 200 || !strings.Contains(page, `id="app"`) {
			t.Errorf("the console at %q: status %d: %.100s", prefix, status, page)
		}
		status, answer := fetch(t, "GET", a.URL()+prefix+"/console/api/me", "", "")
		var me struct {
			Region  string
			Regions []string
		}
		if err := json.Unmarshal([]byte(answer), &me); err != nil || status != 200 || me.Region != region || !slices.Equal(me.Regions, []string{home, europe}) {
			t.Errorf("the console at %q shows %+v, want region %s: %d, %v", prefix, me, region, status, err)
		}
	}
	one := node.InProcess(t, func(*app.Options) {})
	if _, answer := fetch(t, "GET", one.URL()+"/console/api/me", "", ""); strings.Contains(answer, "regions") {
		t.Errorf("the console of a deployment with one region gets %s", answer)
	}
}

// What is signed for one region is not carried out in another one, whatever its path says.
// Game servers sign for the region that their SDK was given.
func TestRegions_OtherSignature(t *testing.T) {
	t.Parallel()
	a := node.InProcess(t, func(o *app.Options) { o.Regions = []string{home, europe} })
	locations := func(region string) (custom []string) {
		c := inRegion(a, client.Credentials{AccessKeyID: "AKIDANY", SecretAccessKey: "secret"}, region)
		for _, l := range node.Must(c.ListLocations(t.Context(), &gamelift.ListLocationsInput{Filters: []types.LocationFilter{types.LocationFilterCustom}}))(t).Locations {
			custom = append(custom, *l.LocationName)
		}
		return custom
	}
	throughEurope := func(signed string) error {
		c := node.Client(a.URL()+"/regions/"+europe, func(o *gamelift.Options) { o.Region, o.RetryMaxAttempts = signed, 1 })
		_, err := c.CreateLocation(t.Context(), &gamelift.CreateLocationInput{LocationName: aws.String("custom-for-" + signed)})
		return err
	}
	if err := throughEurope(home); err == nil || !strings.Contains(err.Error(), "StatusCode: 403") {
		t.Errorf("signed for %s, through the path of %s: %v", home, europe, err)
	}
	if err := throughEurope(europe); err != nil {
		t.Errorf("signed for the region of the path: %v", err)
	}
	if at, there := locations(home), locations(europe); len(at) != 0 || len(there) != 1 || there[0] != "custom-for-"+europe {
		t.Errorf("the locations are %v in %s and %v in %s", at, home, there, europe)
	}

	const signature = "?X-Amz-Credential=AKIDANY%2F20261124%2F" + home + "%2Fgamelift%2Faws4_request"
	if status, body := fetch(t, "GET", a.URL()+"/regions/"+europe+"/player/v1/config"+signature, "", ""); status != 403 || !strings.Contains(body, "sign it for that one") {
		t.Errorf("signed in its query: %d %s", status, body)
	}
	game := node.Must(http.NewRequestWithContext(t.Context(), "GET", a.URL()+"/regions/"+europe+"/"+signature+"&pID=p&ComputeId=c&FleetId=fleet-none", nil))(t)
	game.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"AAAAAAAAAAAAAAAAAAAAAA=="}}
	answer := node.Must(http.DefaultClient.Do(game))(t)
	defer answer.Body.Close()
	if text := node.Must(io.ReadAll(answer.Body))(t); strings.TrimSpace(string(text)) != `{"message":"Forbidden"}` { // the door of game servers, which have a token
		t.Errorf("a game server: %s %s", answer.Status, text)
	}
}

// A state is not opened as that of another region.
func TestRegions_Order(t *testing.T) {
	t.Parallel()
	o := app.Options{Listen: "127.0.0.1:0", DataDir: t.TempDir(), Store: "sqlite", AcceptAny: true, Regions: []string{home, europe}}
	begin := func() (*app.App, error) {
		a, err := app.New(o)
		if err != nil {
			return nil, err
		}
		return a, a.Start(t.Context())
	}
	a := node.Must(begin())(t)
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.Regions = []string{europe, home}
	if _, err := begin(); err == nil || !strings.Contains(err.Error(), "list the regions as they were") {
		t.Errorf("with the regions in another order: %v", err)
	}
	o.Regions = []string{home, "europe"}
	if _, err := begin(); err == nil || !strings.Contains(err.Error(), "europe") {
		t.Errorf("with a name that is no region's: %v", err)
	}
	o.Regions = nil
	a = node.Must(begin())(t) // the home region alone
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}
