package gameapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/musterhq/muster/agent/gamelink"
)

// Problem is the body of an answer that refuses a request (RFC 9457).
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`           // what is wrong with this request
	Code   string `json:"code"`             // the kind of problem, for programs
	Member string `json:"member,omitempty"` // of the body, of the query, or the header that is wrong
	Remedy string `json:"remedy,omitempty"` // what to do

	retryAfter int // seconds; 0 if the same request would be refused again
}

func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

// problem returns a problem; remedy may be "".
func problem(status int, code, member, detail, remedy string) *Problem {
	return &Problem{Status: status, Code: code, Member: member, Detail: detail, Remedy: remedy}
}

func invalid(member, detail, remedy string) *Problem {
	return problem(http.StatusBadRequest, "invalid-parameter", member, detail, remedy)
}

// unreachable returns the problem of a request that Muster did not answer in time.
func unreachable(what string) *Problem {
	p := problem(http.StatusServiceUnavailable, "unreachable", "", "Muster did not answer in time: it is not known whether "+what, "repeat the request; nothing is done twice")
	p.retryAfter = 1
	return p
}

// problemOf returns the form of an error that the program sees. what completes "it is not
// known whether …".
func problemOf(err error, what string) *Problem {
	var p *Problem
	var refused *gamelink.Refusal
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return unreachable(what)
	case !errors.As(err, &refused):
		return problem(http.StatusInternalServerError, "internal", "", "something went wrong here", "look at the log of the agent, or of muster local")
	}
	switch refused.Status {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusConflict:
		return problem(refused.Status, "refused", "", "Muster refuses it: "+refused.Message, "")
	case http.StatusTooManyRequests:
		p = problem(refused.Status, "rate-limited", "", refused.Message, "send less, and again after a pause")
	default:
		p = problem(http.StatusServiceUnavailable, "unreachable", "", "Muster could not do it: "+refused.Message, "repeat the request")
	}
	p.retryAfter = 1
	return p
}

// write sends the problem.
func (p *Problem) write(w http.ResponseWriter) {
	whole := *p
	whole.Type, whole.Title = "urn:muster:problem:"+p.Code, strings.ReplaceAll(p.Code, "-", " ")
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(whole) // fails if the program has gone
}
