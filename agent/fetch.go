package agent

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/musterhq/muster/hosts/protocol"
)

// fetchBuild opens a build's archive at an offset (install.Source).
func (a *Agent) fetchBuild(ctx context.Context, sha string, offset int64) (io.ReadCloser, int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.server()+protocol.PathBuilds+sha, nil)
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Authorization", a.identity().bearer())
	if offset > 0 {
		req.Header.Set("Range", "bytes="+strconv.FormatInt(offset, 10)+"-")
	}
	res, err := a.http.Do(req)
	if err != nil {
		return nil, 0, err
	}
	switch res.StatusCode {
	case http.StatusOK:
		return res.Body, 0, nil
	case http.StatusPartialContent:
		if !strings.HasPrefix(res.Header.Get("Content-Range"), "bytes "+strconv.FormatInt(offset, 10)+"-") {
			res.Body.Close()
			return nil, 0, fmt.Errorf("asked for bytes from %d on and got %q", offset, res.Header.Get("Content-Range"))
		}
		return res.Body, offset, nil
	}
	defer res.Body.Close()
	return nil, 0, refusalOf(res)
}
