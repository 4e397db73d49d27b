package gamelift

import (
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/sdk/session"
)

// held is how long a reservation is held (API reference, CreatePlayerSession).
const held = 60 * time.Second

// optional omits an empty string from a request.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func properties(m map[string]string) []types.GameProperty {
	var list []types.GameProperty
	for _, key := range slices.Sorted(maps.Keys(m)) {
		list = append(list, types.GameProperty{Key: aws.String(key), Value: aws.String(m[key])})
	}
	return list
}

func infoOf(g *types.GameSession) session.Info {
	if g == nil {
		return session.Info{}
	}
	info := session.Info{
		ID: aws.ToString(g.GameSessionId), Name: aws.ToString(g.Name), CreatorID: aws.ToString(g.CreatorId),
		Data: aws.ToString(g.GameSessionData), MatchmakerData: aws.ToString(g.MatchmakerData),
		DNSName: aws.ToString(g.DnsName), IPAddress: aws.ToString(g.IpAddress), Port: port(g.Port),
		MaxPlayers: int(aws.ToInt32(g.MaximumPlayerSessionCount)), Players: int(aws.ToInt32(g.CurrentPlayerSessionCount)),
		Status: session.Status(g.Status), StatusReason: string(g.StatusReason),
		FleetID: aws.ToString(g.FleetId), FleetARN: aws.ToString(g.FleetArn), Location: aws.ToString(g.Location),
		AcceptsPlayers: g.PlayerSessionCreationPolicy != types.PlayerSessionCreationPolicyDenyAll,
		CreatedAt:      aws.ToTime(g.CreationTime), TerminatedAt: aws.ToTime(g.TerminationTime),
	}
	for _, p := range g.GameProperties {
		if info.Properties == nil {
			info.Properties = map[string]string{}
		}
		info.Properties[aws.ToString(p.Key)] = aws.ToString(p.Value)
	}
	return info
}

func port(n *int32) uint16 { return uint16(aws.ToInt32(n)) }

func placementOf(p *types.GameSessionPlacement) session.Placement {
	if p == nil {
		return session.Placement{}
	}
	out := session.Placement{
		ID: aws.ToString(p.PlacementId), Status: session.PlacementStatus(p.Status),
		SessionID: aws.ToString(p.GameSessionArn), Region: aws.ToString(p.GameSessionRegion),
		IPAddress: aws.ToString(p.IpAddress), DNSName: aws.ToString(p.DnsName), Port: port(p.Port),
	}
	for _, placed := range p.PlacedPlayerSessions {
		if out.Connections == nil {
			out.Connections = map[string]session.Connection{}
		}
		c := connection(p.GameSessionArn, placed.PlayerId, placed.PlayerSessionId, p.DnsName, p.IpAddress, p.Port)
		out.Connections[c.PlayerID] = c
	}
	return out
}

func connection(gameSession, player, playerSession, dns, ip *string, on *int32) session.Connection {
	return session.Connection{
		SessionID: aws.ToString(gameSession), PlayerID: aws.ToString(player), PlayerSessionID: aws.ToString(playerSession),
		DNSName: aws.ToString(dns), IPAddress: aws.ToString(ip), Port: port(on),
	}
}

func connectionOf(p *types.PlayerSession) session.Connection {
	if p == nil {
		return session.Connection{}
	}
	c := connection(p.GameSessionId, p.PlayerId, p.PlayerSessionId, p.DnsName, p.IpAddress, p.Port)
	if p.CreationTime != nil {
		c.ReservedUntil = p.CreationTime.Add(held)
	}
	return c
}

func playersOf(list []types.Player) []session.Player {
	var players []session.Player
	for _, p := range list {
		player := session.Player{ID: aws.ToString(p.PlayerId), Team: aws.ToString(p.Team)}
		for name, v := range p.PlayerAttributes {
			if player.Attributes == nil {
				player.Attributes = map[string]session.Attribute{}
			}
			player.Attributes[name] = attributeOf(v)
		}
		for where, ms := range p.LatencyInMs {
			if player.Latency == nil {
				player.Latency = map[string]time.Duration{}
			}
			player.Latency[where] = time.Duration(ms) * time.Millisecond
		}
		players = append(players, player)
	}
	return players
}

func attributeOf(v types.AttributeValue) session.Attribute {
	switch {
	case v.S != nil:
		return session.String(*v.S)
	case v.N != nil:
		return session.Number(*v.N)
	case v.SDM != nil:
		return session.StringNumberMap(v.SDM)
	}
	return session.StringList(v.SL...)
}

func wirePlayers(players []session.Player) []types.Player {
	list := make([]types.Player, len(players))
	for i, p := range players {
		list[i] = types.Player{PlayerId: aws.String(p.ID), Team: optional(p.Team)}
		for name, a := range p.Attributes {
			if list[i].PlayerAttributes == nil {
				list[i].PlayerAttributes = map[string]types.AttributeValue{}
			}
			list[i].PlayerAttributes[name] = wireAttribute(a)
		}
		for where, d := range p.Latency {
			if list[i].LatencyInMs == nil {
				list[i].LatencyInMs = map[string]int32{}
			}
			list[i].LatencyInMs[where] = session.Milliseconds(d)
		}
	}
	return list
}

func wireAttribute(a session.Attribute) types.AttributeValue {
	switch v := a.Value().(type) {
	case string:
		return types.AttributeValue{S: &v}
	case float64:
		return types.AttributeValue{N: &v}
	case []string:
		return types.AttributeValue{SL: v}
	case map[string]float64:
		return types.AttributeValue{SDM: v}
	}
	return types.AttributeValue{}
}

func ticketOf(t types.MatchmakingTicket) session.Ticket {
	out := session.Ticket{
		ID: aws.ToString(t.TicketId), State: session.TicketState(t.Status),
		ConfigurationName: aws.ToString(t.ConfigurationName), ConfigurationARN: aws.ToString(t.ConfigurationArn),
		StatusReason: aws.ToString(t.StatusReason), StatusMessage: aws.ToString(t.StatusMessage),
		EstimatedWait: time.Duration(aws.ToInt32(t.EstimatedWaitTime)) * time.Second,
		StartedAt:     aws.ToTime(t.StartTime), EndedAt: aws.ToTime(t.EndTime), Players: playersOf(t.Players),
	}
	if at := t.GameSessionConnectionInfo; at != nil {
		out.SessionID = aws.ToString(at.GameSessionArn)
		out.Connections = map[string]session.Connection{}
		for _, m := range at.MatchedPlayerSessions {
			c := connection(at.GameSessionArn, m.PlayerId, m.PlayerSessionId, at.DnsName, at.IpAddress, at.Port)
			out.Connections[c.PlayerID] = c
		}
	}
	return out
}
