package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/cell"
	"github.com/musterhq/muster/internal/tracing"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/placement/remote"
	"github.com/musterhq/muster/session"
)

// neighborPath begins the paths of a region for placements of the deployment's other regions.
// The name of an operation follows.
const neighborPath = "/deployment/v1/placement/"

// neighborWait limits a request of a region to another one, and neighborPoll is how often one is
// asked what is free while placements wait.
const (
	neighborWait = 5 * time.Second
	neighborPoll = 500 * time.Millisecond
)

// mostAsked bounds the body of such a request, in bytes: more than any placement has.
const mostAsked = 8 << 20

// neighborRequest is a request of a region to another one. Which members it has depends on the operation.
type neighborRequest struct {
	Destination   string             `json:"destination,omitzero"`
	At            placement.Place    `json:"at,omitzero"`
	Token         string             `json:"token,omitzero"`
	Request       *placement.Request `json:"request,omitzero"`
	GameSessionID string             `json:"game_session_id,omitzero"`
	Players       []session.Joining  `json:"players,omitzero"`
	Why           string             `json:"why,omitzero"`
}

// neighborAnswer is the answer: a refusal, or what the operation returns.
type neighborAnswer struct {
	Refusal *placement.Refusal      `json:"refusal,omitzero"`
	Survey  placement.Survey        `json:"survey,omitzero"`
	Session placement.RemoteSession `json:"session,omitzero"`
	Placed  []placement.Placed      `json:"placed,omitzero"`
}

// neighbor is another region of the deployment, to whose fleets queues of a region may lead.
// Whichever node owns it, it is asked as by that node's clients.
type neighbor struct {
	node    *App
	from    string // the region that asks
	region  string
	account string
}

var _ placement.Neighbor = (*neighbor)(nil)

// remotes returns where queues may lead besides their own region: the deployment's other regions,
// if it is served (f), and the remotes that are configured. One that is another region counts in
// place of that.
func (o *Options) remotes(f *front) placement.Remotes {
	all := remote.Open(o.Remotes, o.Logger)
	if f == nil || !o.several() {
		return all
	}
	for _, name := range o.regions() {
		configured := slices.ContainsFunc(o.Remotes, func(c remote.Config) bool { return o.isOwn(c) && c.Region == name })
		if name != o.Region && !configured {
			all = append(all, &neighbor{node: f.home.node, from: o.Region, region: name, account: o.Account})
		}
	}
	return all
}

// isOwn reports whether a remote is a region of this deployment.
func (o *Options) isOwn(c remote.Config) bool {
	return c.Account == o.Account && slices.Contains(o.regions(), c.Region)
}

// validateRemotes checks the configured remotes, whose names must not be those of the deployment's
// regions.
func (o *Options) validateRemotes() error {
	if err := remote.Check(o.Remotes, o.remoteFrom()); err != nil {
		return err
	}
	for _, c := range o.Remotes {
		if o.several() && slices.Contains(o.regions(), c.Name) && !(o.isOwn(c) && c.Region == c.Name) {
			return fmt.Errorf("remotes: %q: name: a region of this deployment has it, and explanations name both; choose another one", c.Name)
		}
	}
	return nil
}

// Name implements placement.Remote.
func (n *neighbor) Name() string { return n.region }

// Has implements placement.Remote.
func (n *neighbor) Has(destination string) bool {
	region, account := arn.Owner(destination)
	return region == n.region && (account == n.account || account == "" && arn.Kind(destination) == "alias")
}

// Poll implements placement.Remote.
func (n *neighbor) Poll() time.Duration { return neighborPoll }

// Survey implements placement.Remote.
func (n *neighbor) Survey(ctx context.Context, destination string) (placement.Survey, error) {
	a, err := n.ask(ctx, "survey", neighborRequest{Destination: destination})
	return a.Survey, err
}

// Create implements placement.Remote.
func (n *neighbor) Create(ctx context.Context, at placement.Place, token string, r *placement.Request) (placement.RemoteSession, error) {
	wanted := *r
	wanted.Latencies, wanted.Summary, wanted.Override, wanted.Players = nil, nil, nil, nil // which say where, and for whom
	a, err := n.ask(ctx, "create", neighborRequest{At: at, Token: token, Request: &wanted})
	return a.Session, err
}

// Find implements placement.Remote.
func (n *neighbor) Find(ctx context.Context, at placement.Place, token string) (placement.RemoteSession, error) {
	a, err := n.ask(ctx, "find", neighborRequest{At: at, Token: token})
	return a.Session, err
}

// Describe implements placement.Remote.
func (n *neighbor) Describe(ctx context.Context, gameSessionID string) (placement.RemoteSession, error) {
	a, err := n.ask(ctx, "describe", neighborRequest{GameSessionID: gameSessionID})
	return a.Session, err
}

// Reserve implements placement.Remote.
func (n *neighbor) Reserve(ctx context.Context, gameSessionID string, players []session.Joining) ([]placement.Placed, error) {
	a, err := n.ask(ctx, "reserve", neighborRequest{GameSessionID: gameSessionID, Players: players})
	return a.Placed, err
}

// Reserved implements placement.Remote.
func (n *neighbor) Reserved(ctx context.Context, gameSessionID string) ([]placement.Placed, error) {
	a, err := n.ask(ctx, "reserved", neighborRequest{GameSessionID: gameSessionID})
	return a.Placed, err
}

// Terminate implements placement.Remote.
func (n *neighbor) Terminate(ctx context.Context, gameSessionID string) error {
	_, err := n.ask(ctx, "terminate", neighborRequest{GameSessionID: gameSessionID})
	return err
}

// Wake implements placement.Neighbor.
func (n *neighbor) Wake(ctx context.Context, at placement.Place, why string) error {
	_, err := n.ask(ctx, "wake", neighborRequest{At: at, Why: why})
	return err
}

// ask sends a request to the region and returns its answer. An error that is no
// *placement.Refusal says nothing about whether the request was carried out.
func (n *neighbor) ask(ctx context.Context, operation string, q neighborRequest) (a neighborAnswer, err error) {
	if a, err = n.exchange(ctx, operation, q); err != nil {
		return a, fmt.Errorf("region %s: %w", n.region, err)
	}
	if a.Refusal != nil {
		return a, a.Refusal
	}
	return a, nil
}

func (n *neighbor) exchange(ctx context.Context, operation string, q neighborRequest) (a neighborAnswer, err error) {
	g := n.node.regionOf(n.region)
	ctx, cancel := context.WithTimeout(ctx, neighborWait)
	defer cancel()
	select {
	case <-g.answers:
	case <-ctx.Done():
		return a, &placement.Refusal{Kind: placement.Unreachable, Message: "this server does not serve it yet"}
	}
	ctx, span := tracing.Child(ctx, operation, trace.SpanKindClient, attribute.String("muster.remote", n.region))
	defer func() { tracing.End(span, err) }()
	r, err := n.request(ctx, operation, q)
	if err != nil {
		return a, err
	}
	// A proxy panics with http.ErrAbortHandler if the answer ends in its middle.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the answer was cut off: %v", p)
		}
	}()
	w := &answer{header: http.Header{}, status: http.StatusOK}
	g.ServeHTTP(w, r)
	if w.status != http.StatusOK {
		return a, fmt.Errorf("it answered %d: %.200s", w.status, w.body.String())
	}
	return a, json.Unmarshal(w.body.Bytes(), &a)
}

// request returns a request to the region. A node's proof that it sends it covers the path there,
// the region and the body.
func (n *neighbor) request(ctx context.Context, operation string, q neighborRequest) (*http.Request, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	query := url.Values{"from": {n.from}, "region": {n.region}, "body": {digestOf(body)}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, neighborPath+operation+"?"+query.Encode(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Host, r.RemoteAddr = "localhost", "node" // a server that requires no credentials answers its own machine alone
	cell.Sign(n.node.masterKey.NodeSecret(), r, time.Now())
	r.URL.Path = protocol.PathRegions + n.region + r.URL.Path // by which the node that owns it finds it
	tracing.Inject(ctx, r.Header)
	return r, nil
}

func digestOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// neighborDoor answers the other regions of the deployment. Only nodes are let in.
type neighborDoor struct {
	region string
	secret []byte
	own    placement.Region
}

// ServeHTTP implements http.Handler.
func (d *neighborDoor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if r.Method != http.MethodPost || !cell.FromNode(d.secret, r, time.Now()) || query.Get("region") != d.region {
		nothingHere(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostAsked))
	if err != nil || digestOf(body) != query.Get("body") {
		writeJSON(w, http.StatusBadRequest, `{"message":"the body is not the one that was signed"}`)
		return
	}
	var q neighborRequest
	if err := json.Unmarshal(body, &q); err != nil {
		writeJSON(w, http.StatusBadRequest, `{"message":"the body is no request"}`)
		return
	}
	a, err := d.answer(r.Context(), r.URL.Path[len(neighborPath):], query.Get("from"), &q)
	if no, ok := errors.AsType[*placement.Refusal](err); ok {
		a, err = neighborAnswer{Refusal: no}, nil
	}
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	text, err := json.Marshal(a)
	if err != nil {
		refuse(w, http.StatusInternalServerError, "the answer cannot be written")
		return
	}
	writeJSON(w, http.StatusOK, string(text))
}

// answer carries out an operation for another region.
func (d *neighborDoor) answer(ctx context.Context, operation, from string, q *neighborRequest) (a neighborAnswer, err error) {
	switch operation {
	case "survey":
		a.Survey = d.own.Survey(q.Destination)
	case "create":
		if q.Request == nil {
			return a, errors.New("request: required")
		}
		a.Session, err = d.own.Create(ctx, from, q.At, q.Token, q.Request)
	case "find":
		a.Session, err = d.own.Find(ctx, from, q.At, q.Token)
	case "describe":
		a.Session, err = d.own.Describe(ctx, q.GameSessionID)
	case "reserve":
		a.Placed, err = d.own.Reserve(ctx, from, q.GameSessionID, q.Players)
	case "reserved":
		a.Placed = d.own.Reserved(q.GameSessionID)
	case "terminate":
		err = d.own.Terminate(ctx, from, q.GameSessionID)
	case "wake":
		err = d.own.Wake(ctx, from, q.At, q.Why)
	default:
		err = fmt.Errorf("there is no operation %.64q", operation)
	}
	return a, err
}
