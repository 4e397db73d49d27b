package gameserver

import (
	"fmt"

	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/model"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/matchdata"
)

// describe converts the SDK's game session. If its matchmaker data cannot be parsed,
// the rest is returned along with the error.
func describe(g model.GameSession) (session.Info, matchdata.Data, error) {
	info := session.Info{
		ID: g.GameSessionID, Name: g.Name, Properties: g.GameProperties, Data: g.GameSessionData,
		MatchmakerData: g.MatchmakerData, DNSName: g.DNSName, IPAddress: g.IPAddress, Port: uint16(g.Port),
		MaxPlayers: g.MaximumPlayerSessionCount, FleetID: g.FleetID, Location: g.Location,
		StatusReason: g.StatusReason, AcceptsPlayers: true,
	}
	if g.Status != nil { // nil for a new session
		info.Status = session.Status(fmt.Sprint(g.Status))
	}
	data, err := matchdata.Parse(g.MatchmakerData)
	return info, data, err
}

func reasonOf(u model.UpdateGameSession) UpdateReason {
	if u.UpdateReason == nil {
		return UnknownReason
	}
	return UpdateReason(u.UpdateReason.String())
}

func sdkPlayers(players []session.Player) []model.Player {
	list := make([]model.Player, len(players))
	for i, p := range players {
		list[i] = model.Player{PlayerID: p.ID, Team: p.Team}
		for name, a := range p.Attributes {
			if list[i].PlayerAttributes == nil {
				list[i].PlayerAttributes = map[string]model.AttributeValue{}
			}
			list[i].PlayerAttributes[name] = model.MakeAttributeValue(a.Value())
		}
		for where, d := range p.Latency {
			if list[i].LatencyInMS == nil {
				list[i].LatencyInMS = map[string]int{}
			}
			list[i].LatencyInMS[where] = int(session.Milliseconds(d))
		}
	}
	return list
}
