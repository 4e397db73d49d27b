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

// readable returns the namespace in the path if the player may read it. To the player,
// a namespace that is not readable does not exist.
func (rq *request) readable() (identity.Namespace, error) {
	ns := identity.Namespace(rq.param("namespace"))
	if !ns.PlayerReads() {
		return "", refuse("not-found", "namespaces are private, public and server")
	}
	return ns, nil
}

func (rq *request) writable() (identity.Namespace, error) {
	ns, err := rq.readable()
	if err != nil {
		return "", err
	}
	if !ns.PlayerWrites() {
		return "", refuse("not-allowed", "players read the namespace "+string(ns)+", they do not write it")
	}
	return ns, rq.change()
}

func (rq *request) allData() (answer, error) {
	ns, err := rq.readable()
	if err != nil {
		return answer{}, err
	}
	all, err := rq.b.ids.Data.All(rq.player.PlayerID, ns)
	if err != nil {
		return answer{}, err
	}
	return ok(&protocol.DataItems{Items: itemsOut(all)})
}

func (rq *request) getData() (answer, error) {
	ns, err := rq.readable()
	if err != nil {
		return answer{}, err
	}
	return rq.datum(rq.player.PlayerID, ns)
}

// datum answers with a value; its version is the ETag.
func (rq *request) datum(player string, ns identity.Namespace) (answer, error) {
	d, err := rq.b.ids.Data.Get(player, ns, rq.param("key"))
	if err != nil {
		return answer{}, err
	}
	etag := quoted(d.Version)
	if rq.has(etag) {
		return answer{status: http.StatusNotModified, etag: etag}, nil
	}
	return answer{status: http.StatusOK, body: protocol.JSON(d.Value), etag: etag}, nil
}

func (rq *request) putData() (answer, error) {
	ns, err := rq.writable()
	if err != nil {
		return answer{}, err
	}
	return rq.put(rq.player.PlayerID, ns)
}

func (rq *request) put(player string, ns identity.Namespace) (answer, error) {
	e, err := rq.expectation()
	if err != nil {
		return answer{}, err
	}
	d, err := rq.b.ids.Data.Put(rq.http.Context(), player, ns, rq.param("key"), rq.body, e)
	if err != nil {
		return answer{}, err
	}
	status := http.StatusOK
	if d.Version == d.First {
		status = http.StatusCreated
	}
	return answer{status: status, body: itemOut(d), etag: quoted(d.Version)}, nil
}

func (rq *request) deleteData() (answer, error) {
	ns, err := rq.writable()
	if err != nil {
		return answer{}, err
	}
	e, err := rq.expectation()
	if err != nil {
		return answer{}, err
	}
	return done(rq.b.ids.Data.Delete(rq.http.Context(), rq.player.PlayerID, ns, rq.param("key"), e))
}

// expectation reads If-Match and If-None-Match (RFC 9110, 13.1).
func (rq *request) expectation() (identity.Expect, error) {
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

// has reports whether the client says that it has the version of an ETag. Compressing
// proxies make our ETags weak, which makes no difference here (RFC 9110, 13.1.2).
func (rq *request) has(etag string) bool {
	for tag := range strings.SplitSeq(strings.Join(rq.http.Header.Values("If-None-Match"), ","), ",") {
		if strings.TrimPrefix(strings.TrimSpace(tag), "W/") == etag {
			return true
		}
	}
	return false
}

// serverGetData and serverPutData are for the operator's game backends and game
// servers; they have access to every namespace.
func (rq *request) serverGetData() (answer, error) {
	return rq.datum(rq.param("player"), identity.Namespace(rq.param("namespace")))
}

func (rq *request) serverPutData() (answer, error) {
	return rq.put(rq.param("player"), identity.Namespace(rq.param("namespace")))
}

func quoted(version int64) string { return `"` + itoa(version) + `"` }
