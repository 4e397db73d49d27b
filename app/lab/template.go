package lab

import (
	"embed"
	"fmt"
	"strings"
)

// Template is a rule set to begin with.
type Template struct {
	Kind  string `json:"kind"` // the kind of game, and the name of the file
	Title string `json:"title"`
	Text  string `json:"text"` // what its rules do
	Body  string `json:"body"`
}

//go:embed templates
var bodies embed.FS

// templates are in the order in which they are offered.
var templates = []Template{
	{Kind: "duel", Title: "One against one", Text: "Two players of similar skill with a fast connection. The longer they wait, the further apart they may be."},
	{Kind: "teams", Title: "Two even teams", Text: "Four against four. The averages of the teams are close, and so is everybody's skill."},
	{Kind: "roles", Title: "Teams with roles", Text: "Five against five. Each team has one or two tanks and one or two healers, and their averages are close. After a while the averages may be further apart."},
	{Kind: "squads", Title: "Many small teams", Text: "Four squads of three on one map. After a while squads of two will do."},
	{Kind: "free-for-all", Title: "Everybody alone", Text: "Twelve to sixteen players, without teams. After a while fewer are enough."},
	{Kind: "together", Title: "Together against the computer", Text: "Four players who want the same difficulty and have a map in common."},
	{Kind: "hunt", Title: "One against many", Text: "A monster and four hunters, whose average skill is close to the monster's. After a while three will do."},
	{Kind: "large", Title: "A large match", Text: "Two teams of 40 to 50 players, divided by skill so that the teams are even."},
	{Kind: "empty", Title: "An empty page", Text: "Two players and no rule: whoever comes next plays."},
}

// Templates returns the rule sets to begin with.
func Templates() []Template {
	all := append([]Template{}, templates...)
	for i := range all {
		body, err := bodies.ReadFile("templates/" + all[i].Kind + ".json")
		if err != nil {
			panic(fmt.Sprintf("template %q: %v", all[i].Kind, err)) // the files are part of the program
		}
		all[i].Body = strings.TrimSpace(string(body))
	}
	return all
}
