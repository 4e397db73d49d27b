package backend

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

func itemOut(d *identity.Datum) protocol.DataItem {
	return protocol.DataItem{Value: protocol.JSON(d.Value), Version: d.Version, UpdatedAt: d.Updated}
}

func itemsOut(all []*identity.Datum) map[string]protocol.DataItem {
	out := make(map[string]protocol.DataItem, len(all))
	for _, d := range all {
		out[d.Key] = itemOut(d)
	}
	return out
}

type data struct{ *core }

// readable returns the namespace in the path if the player may read it, and otherwise the
// same error as for a namespace that does not exist.
func readable(rq *request) (identity.Namespace, error) {
	ns := identity.Namespace(rq.param("namespace"))
	if !ns.PlayerReads() {
		return "", refuse("not-found", "namespaces are private, public and server")
	}
	return ns, nil
}

func writable(rq *request) (identity.Namespace, error) {
	ns, err := readable(rq)
	if err != nil {
		return "", err
	}
	if !ns.PlayerWrites() {
		return "", refuse("not-allowed", "players read the namespace "+string(ns)+", they do not write it")
	}
	return ns, change(rq)
}

func (h *data) list(rq *request) (answer, error) {
	ns, err := readable(rq)
	if err != nil {
		return answer{}, err
	}
	all, err := h.Identity.Data.All(rq.player.PlayerID, ns)
	return ok(&protocol.DataItems{Items: itemsOut(all)}, err)
}

func (h *data) get(rq *request) (answer, error) {
	ns, err := readable(rq)
	if err != nil {
		return answer{}, err
	}
	return h.read(rq, rq.player.PlayerID, ns)
}

// read answers with a value; its version is the ETag.
func (h *data) read(rq *request, player string, ns identity.Namespace) (answer, error) {
	d, err := h.Identity.Data.Get(player, ns, rq.param("key"))
	if err != nil {
		return answer{}, err
	}
	etag := quoted(d.Version)
	if rq.has(etag) {
		return answer{status: http.StatusNotModified, etag: etag}, nil
	}
	return answer{status: http.StatusOK, body: protocol.JSON(d.Value), etag: etag}, nil
}

func (h *data) put(rq *request) (answer, error) {
	ns, err := writable(rq)
	if err != nil {
		return answer{}, err
	}
	return h.write(rq, rq.player.PlayerID, ns)
}

func (h *data) write(rq *request, player string, ns identity.Namespace) (answer, error) {
	e, err := expectation(rq)
	if err != nil {
		return answer{}, err
	}
	d, err := h.Identity.Data.Put(rq.context(), player, ns, rq.param("key"), rq.body, e)
	if err != nil {
		return answer{}, err
	}
	status := http.StatusOK
	if d.Version == d.First {
		status = http.StatusCreated
	}
	return answer{status: status, body: itemOut(d), etag: quoted(d.Version)}, nil
}

func (h *data) remove(rq *request) (answer, error) {
	ns, err := writable(rq)
	if err != nil {
		return answer{}, err
	}
	e, err := expectation(rq)
	if err != nil {
		return answer{}, err
	}
	return done(h.Identity.Data.Delete(rq.context(), rq.player.PlayerID, ns, rq.param("key"), e))
}

// expectation reads If-Match and If-None-Match (RFC 9110, 13.1).
func expectation(rq *request) (identity.Expect, error) {
	match, none := rq.http.Header.Get("If-Match"), rq.http.Header.Get("If-None-Match")
	switch {
	case none == "*" && match == "":
		return identity.Expect{Absent: true}, nil
	case none != "":
		return identity.Expect{}, refuse("invalid-parameter", "If-None-Match: only * is understood for writes")
	case match == "":
		return identity.Expect{}, nil
	}
	version, err := strconv.ParseInt(strings.Trim(match, `"`), 10, 64)
	if err != nil || version < 1 || quoted(version) != match {
		return identity.Expect{}, refuse("precondition-failed", "If-Match: is no ETag of ours")
	}
	return identity.Expect{Version: version}, nil
}

// serverGet and serverPut are for the operator's game backends and game
// servers; they have access to every namespace.
func (h *data) serverGet(rq *request) (answer, error) {
	return h.read(rq, rq.param("player"), identity.Namespace(rq.param("namespace")))
}

func (h *data) serverPut(rq *request) (answer, error) {
	return h.write(rq, rq.param("player"), identity.Namespace(rq.param("namespace")))
}

func quoted(version int64) string { return `"` + itoa(version) + `"` }
