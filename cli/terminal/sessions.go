package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/musterhq/muster/cli/client"
)

// sessionRow holds the members of a game session that are shown.
type sessionRow struct {
	GameSessionID   string  `json:"GameSessionId"`
	Name            string  `json:"Name,omitempty"`
	FleetID         string  `json:"FleetId"`
	FleetName       string  `json:"FleetName,omitempty"`
	Host            string  `json:"Host,omitempty"` // name of the machine; only while a process hosts the game session
	Location        string  `json:"Location,omitempty"`
	Status          string  `json:"Status"`
	StatusReason    string  `json:"StatusReason,omitempty"`
	CreationTime    float64 `json:"CreationTime"`
	TerminationTime float64 `json:"TerminationTime,omitempty"`
	Players         int     `json:"CurrentPlayerSessionCount"`
	MaxPlayers      int     `json:"MaximumPlayerSessionCount"`
	IPAddress       string  `json:"IpAddress,omitempty"`
	Port            int     `json:"Port"`

	EndReason string `json:"EndReason,omitempty"` // StatusReason, or else the code of the event by which its process ended; only of one that is shown alone
	EndText   string `json:"EndText,omitempty"`   // the same for people
}

// SessionFilter selects the game sessions to show; empty fields match all.
type SessionFilter struct {
	FleetID string // id or ARN; "" = every fleet
	Status  string // ACTIVATING, ACTIVE, TERMINATING or TERMINATED
}

// Sessions shows game sessions, including those that have ended and are still kept.
func (t *Terminal) Sessions(ctx context.Context, f SessionFilter) error {
	return t.show(ctx, func(ctx context.Context) (table, error) { return t.readSessions(ctx, f) })
}

func (t *Terminal) readSessions(ctx context.Context, f SessionFilter) (table, error) {
	fleets, err := t.Client.Fleets(ctx)
	if err != nil {
		return table{}, err
	}
	var ids []string
	fleetNames := map[string]string{}
	for _, of := range fleets {
		ids, fleetNames[of.ID] = append(ids, of.ID), of.Name
	}
	if f.FleetID != "" {
		ids = []string{f.FleetID}
	}
	sessions, err := t.describeSessions(ctx, ids, f.Status)
	if err != nil {
		return table{}, err
	}
	processes, err := t.Client.Processes(ctx, shortID(f.FleetID))
	if err != nil {
		return table{}, err
	}
	hosts := map[string]string{}
	for _, p := range processes {
		hosts[p.GameSessionID] = p.Host
	}
	for i := range sessions {
		sessions[i].FleetName, sessions[i].Host = fleetNames[sessions[i].FleetID], hosts[sessions[i].GameSessionID]
	}
	view := table{data: sessions}
	view.Head = []string{"SESSION", "NAME", "STATUS", "PLAYERS", "ADDRESS", "FLEET", "LOCATION", "HOST", "AGE"}
	for _, s := range sessions {
		view.Rows = append(view.Rows, []string{
			shortID(s.GameSessionID), s.Name, s.Status, fmt.Sprintf("%d/%d", s.Players, s.MaxPlayers),
			s.address(), cmp.Or(s.FleetName, s.FleetID), s.Location, cmp.Or(s.Host, "-"), ago(s.CreationTime),
		})
	}
	return view, nil
}

// describeSessions returns the game sessions of fleets with a status, "" for any.
func (t *Terminal) describeSessions(ctx context.Context, fleetIDs []string, status string) ([]sessionRow, error) {
	sessions := []sessionRow{}
	for _, id := range fleetIDs {
		in := map[string]any{"FleetId": id, "Limit": 100}
		if status != "" {
			in["StatusFilter"] = status
		}
		err := all(ctx, t.Client, "DescribeGameSessions", in, func(out *struct {
			GameSessions []sessionRow
			NextToken    string
		}) string {
			sessions = append(sessions, out.GameSessions...)
			return out.NextToken
		})
		if err != nil {
			return nil, err
		}
	}
	return sessions, nil
}

// shortID returns the last part of an ARN.
func shortID(arn string) string { return arn[strings.LastIndex(arn, "/")+1:] }

// Session shows a game session with its players.
func (t *Terminal) Session(ctx context.Context, text string) error {
	arn, err := t.Client.Sessions().GameSessionID(ctx, text)
	if err != nil {
		return err
	}
	s, err := t.describeSession(ctx, arn)
	if err != nil {
		return err
	}
	players := []playerSessionRow{}
	err = all(ctx, t.Client, "DescribePlayerSessions", map[string]any{"GameSessionId": arn, "Limit": 100}, func(out *struct {
		PlayerSessions []playerSessionRow
		NextToken      string
	}) string {
		players = append(players, out.PlayerSessions...)
		return out.NextToken
	})
	if err != nil {
		return err
	}
	if t.JSON {
		return WriteJSON(t.Out, map[string]any{"GameSession": s, "PlayerSessions": players})
	}
	if err := s.facts().Write(t.Out); err != nil || len(players) == 0 {
		return err
	}
	fmt.Fprintln(t.Out)
	of := Table{Head: []string{"PLAYER", "STATUS", "SINCE", "PLAYER SESSION"}}
	for _, p := range players {
		of.Rows = append(of.Rows, []string{p.PlayerID, p.Status, ago(p.CreationTime), p.PlayerSessionID})
	}
	return t.writeTable(of)
}

// describeSession returns a game session, with how it ended.
func (t *Terminal) describeSession(ctx context.Context, arn string) (sessionRow, error) {
	var found struct{ GameSessions []sessionRow }
	if err := t.Client.Call(ctx, "DescribeGameSessions", map[string]any{"GameSessionId": arn}, &found); err != nil {
		return sessionRow{}, err
	}
	if len(found.GameSessions) == 0 {
		return sessionRow{}, fmt.Errorf("the game session %s is not kept any more", arn)
	}
	s := found.GameSessions[0]
	if s.TerminationTime == 0 {
		return s, nil
	}
	end, err := t.Client.Sessions().End(ctx, arn)
	if e, ok := errors.AsType[*client.Error](err); ok && e.Status == http.StatusForbidden {
		return s, nil // who may not read pages sees what the API answers
	}
	s.EndReason, s.EndText = end.Reason, end.How
	return s, err
}

// address returns the address and the port of a game session.
func (s sessionRow) address() string { return net.JoinHostPort(s.IPAddress, strconv.Itoa(s.Port)) }

// facts returns a game session as a table with a row for each member.
func (s sessionRow) facts() Table {
	facts := Table{Head: []string{"Game session", shortID(s.GameSessionID)}, Rows: [][]string{
		{"Name", cmp.Or(s.Name, "-")}, {"Status", s.statusLine()}, {"Fleet", s.FleetID}, {"Location", s.Location},
		{"Address", s.address()}, {"Created", ago(s.CreationTime) + " ago"},
	}}
	if s.TerminationTime != 0 {
		facts.Rows = append(facts.Rows, []string{"Ended", ago(s.TerminationTime) + " ago"})
	}
	if s.EndText != "" {
		facts.Rows = append(facts.Rows, []string{"Cause", s.EndText})
	}
	facts.Rows = append(facts.Rows, []string{"Players", fmt.Sprintf("%d of %d", s.Players, s.MaxPlayers)}, []string{"GameSessionId", s.GameSessionID})
	return facts
}

// statusLine returns the status with the reason of an end.
func (s sessionRow) statusLine() string {
	if why := cmp.Or(s.StatusReason, s.EndReason); why != "" {
		return s.Status + ": " + why
	}
	return s.Status
}

// playerSessionRow holds the members of a player session that are shown.
type playerSessionRow struct {
	PlayerSessionID string  `json:"PlayerSessionId"`
	PlayerID        string  `json:"PlayerId"`
	Status          string  `json:"Status"`
	CreationTime    float64 `json:"CreationTime"`
}

// EndSession ends a game session: its process is told to end, or with force is ended at once.
func (t *Terminal) EndSession(ctx context.Context, text string, force bool) error {
	arn, err := t.Client.Sessions().GameSessionID(ctx, text)
	if err != nil {
		return err
	}
	mode, when := "TRIGGER_ON_PROCESS_TERMINATE", "is told to end; its game server decides when it does"
	if force {
		mode, when = "FORCE_TERMINATE", "is ended"
	}
	if err := t.Client.Call(ctx, "TerminateGameSession", map[string]any{"GameSessionId": arn, "TerminationMode": mode}, nil); err != nil {
		return err
	}
	return t.Report(map[string]any{"GameSessionId": arn, "TerminationMode": mode}, "%s %s.", shortID(arn), when)
}
