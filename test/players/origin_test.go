package players

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// fetch sends a request as a browser does for a page; header is more of it, in pairs.
func (s *stage) fetch(origin, method, path, body string, header ...string) response {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, s.url+path, strings.NewReader(body))
	s.must(err)
	r.Header.Set("Origin", origin)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	r.Header.Set("Sec-Fetch-Mode", "cors")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	s.must(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	s.must(err)
	return response{status: answer.StatusCode, header: answer.Header, body: text}
}

// A page of an allowed site makes a guest, asks for a match and reads the refusal, on a
// developer's server and on one with keys; a page of another site gets nothing, and no page
// reaches what is for operators.
func TestOrigin(t *testing.T) {
	t.Parallel()
	const site, evil = "https://game.example", "https://evil.example"
	for _, local := range []bool{true, false} {
		s := bare(t, func(o *app.Options) {
			o.AcceptAny = local
			o.Players.Origins = []string{site}
		})
		allowed := []string{site}
		if local {
			allowed = append(allowed, "http://localhost:5173")
		}
		for _, page := range allowed {
			asked := s.fetch(page, "OPTIONS", protocol.Base+"/matchmaking/tickets", "",
				"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type")
			if asked.status != 204 || asked.header.Get("Access-Control-Allow-Origin") != page || !strings.Contains(asked.header.Get("Access-Control-Allow-Headers"), "Authorization") {
				t.Errorf("%s, local %t: the preflight got %d, %v", page, local, asked.status, asked.header)
			}
			made := s.fetch(page, "POST", protocol.Base+"/auth/guest", "")
			var login protocol.Session
			s.read(made, &login)
			refused := s.fetch(page, "POST", protocol.Base+"/matchmaking/tickets", `{"matchmaker":"none"}`,
				"Authorization", "Bearer "+login.AccessToken, "Content-Type", "application/json")
			if made.status != 201 || refused.status != 404 || refused.header.Get("Access-Control-Allow-Origin") != page || !strings.Contains(string(refused.body), "not-found") {
				t.Errorf("%s, local %t: got %d, then %d %s", page, local, made.status, refused.status, refused.body)
			}
			for _, path := range []string{"/openapi.yaml", "/asyncapi.yaml"} {
				if got := s.fetch(page, "GET", protocol.Base+path, ""); got.status != 200 || !strings.Contains(string(got.body), "api: 3.") {
					t.Errorf("%s, local %t: %s got %d", page, local, path, got.status)
				}
			}
		}
		refused := []string{evil, "null"}
		if !local {
			refused = append(refused, "http://localhost:5173")
		}
		for _, page := range refused {
			for _, method := range []string{"OPTIONS", "POST"} {
				got := s.fetch(page, method, protocol.Base+"/auth/guest", "", "Access-Control-Request-Method", "POST")
				if got.status != 403 || got.header.Get("Access-Control-Allow-Origin") != "" {
					t.Errorf("%s, local %t: %s got %d, %v", page, local, method, got.status, got.header)
				}
				var problem protocol.Problem
				s.read(got, &problem)
				if got.header.Get("Content-Type") != "application/problem+json" || problem.Code != "not-allowed" || problem.Status != 403 || got.header.Get("X-Request-Id") == "" {
					t.Errorf("%s, local %t: %s got %v %s", page, local, method, got.header, got.body)
				}
			}
		}
		for _, page := range append(allowed, refused...) {
			for _, path := range []string{protocol.OperatorBase + "players/p/data/server/skill", "/agent/v1/shortages"} {
				if got := s.fetch(page, "GET", path, ""); got.status < 400 || got.header.Get("Access-Control-Allow-Origin") != "" {
					t.Errorf("%s, local %t: %s got %d, %v", page, local, path, got.status, got.header)
				}
			}
		}
	}
}
