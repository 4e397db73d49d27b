package demo

import (
	"os"
	"strings"
	"text/template"
)

// tour is text to paste into a second terminal.
const tour = `
The demo: fleet {{.Fleet}} at {{.Location}}, {{.Processes}} game server processes.
From another terminal, with nothing but the endpoint changed:

  {{.Login}}
  SESSION=$(aws gamelift create-game-session --endpoint-url {{.URL}} \
      --alias-id {{.Alias}} --location {{.Location}} \
      --maximum-player-session-count 4 --query GameSession.GameSessionId --output text)
  aws gamelift describe-game-sessions --endpoint-url {{.URL}} --game-session-id "$SESSION"
  aws gamelift create-player-session --endpoint-url {{.URL}} --game-session-id "$SESSION" --player-id me

or in Python:

  import boto3
  gamelift = boto3.client("gamelift", endpoint_url="{{.URL}}")
  session = gamelift.create_game_session(AliasId="{{.Alias}}", Location="{{.Location}}",
      MaximumPlayerSessionCount=4)["GameSession"]

See all of it in a browser: {{.URL}}/

Watch and play:

  {{.Program}} events --follow --endpoint {{.URL}}
  {{.Program}} sessions --watch --endpoint {{.URL}}
  {{.Program}} demo play --endpoint {{.URL}}
`

// printCommands prints the tour with the names on this server.
func (d *Demo) printCommands() {
	t := template.Must(template.New("tour").Parse(strings.TrimPrefix(tour, "\n")))
	err := t.Execute(d.s.Out, map[string]any{
		"Fleet": d.place.FleetID, "Alias": d.place.AliasID, "Location": d.s.Places.Location, "Processes": d.opts.Processes,
		"URL": d.s.URL, "Login": d.s.Login, "Program": os.Args[0],
	})
	if err != nil {
		d.log.Error("tour not printed", "error", err)
	}
}
