package api

import (
	"context"
	"net/http"
	"path"
	"time"

	"github.com/musterhq/muster/build/object"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/fault"
)

// logLife is how long the URL of a log is valid (API reference, GetGameSessionLogUrl).
const logLife = 15 * time.Minute

func (h handlers) registerLogs(srv *awsrpc.Server) {
	on(srv, "GetGameSessionLogUrl", h.getGameSessionLogURL)
}

// getGameSessionLogURL returns the URL of the logs that the game session's host has
// stored.
func (h handlers) getGameSessionLogURL(ctx context.Context, in *gamelift.GetGameSessionLogUrlInput) (*gamelift.GetGameSessionLogUrlOutput, error) {
	g, err := h.Sessions.Get(ctx, *in.GameSessionId)
	if err != nil {
		return nil, err
	}
	at := compute.ParseRef(g.ProcessKey)
	key := at.FleetID + "/" + at.ComputeName + "/" + path.Base(g.ID) + ".zip"
	if h.Objects.Get(h.Store.View(), object.LogBucket, key) == nil {
		return nil, fault.Missing("GameSessionId: no logs are stored of game session %s: they come when it has ended, from hosts that Muster runs, and stay 14 days", g.ID)
	}
	url, err := h.Uploads.Presign(http.MethodGet, object.LogBucket, key, logLife)
	if err != nil {
		return nil, err
	}
	return &gamelift.GetGameSessionLogUrlOutput{PreSignedUrl: &url}, nil
}
