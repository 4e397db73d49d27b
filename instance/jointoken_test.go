package instance_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/wait"
)

func (y *yard) token(in instance.JoinTokenInput) string {
	y.Helper()
	in.Location = region
	secret, _, err := y.Instances.CreateJoinToken(y.Ctx, in)
	y.Must(err)
	return secret
}

func (y *yard) joinFrom(token, address string) error {
	from, _ := netip.ParseAddr(address)
	_, err := y.Instances.Join(y.Ctx, instance.JoinInput{Token: token, From: from, HostInfo: machine})
	return err
}

func (y *yard) tokens() []*instance.JoinToken {
	var all []*instance.JoinToken
	for t := range y.Instances.JoinTokens(y.Store.View(), time.Now()) {
		all = append(all, t)
	}
	return all
}

func TestJoinToken_OnceAndInTime(t *testing.T) {
	in(t, instance.Options{}, func(y *yard) {
		token, made, err := y.Instances.CreateJoinToken(y.Ctx, instance.JoinTokenInput{Location: region, Life: time.Minute})
		y.Must(err)
		if got := time.Until(made.Expires); got != time.Minute {
			y.Errorf("it ends in %s", got)
		}
		y.Must(y.joinFrom(token, ""))
		y.Refused("a used token", fault.Unauthorized, func() error { return y.joinFrom(token, "") })
		late := y.token(instance.JoinTokenInput{Life: time.Minute})
		wait.Settle(time.Minute)
		y.Refused("a token past its end", fault.Unauthorized, func() error { return y.joinFrom(late, "") })
		if n := len(y.tokens()); n != 0 {
			y.Errorf("%d tokens are listed after their end", n)
		}
		y.Refused("an unknown host", fault.Unauthorized, func() error { _, err := y.Instances.AuthenticateHost("host-x", ""); return err })
	})
}

func TestJoinToken_BadInput(t *testing.T) {
	in(t, instance.Options{}, func(y *yard) {
		for name, in := range map[string]instance.JoinTokenInput{
			"location": {Location: "custom-nowhere"},
			"life":     {Location: region, Life: instance.LongestJoinTokenLife + 1},
			"uses":     {Location: region, MaxUses: instance.MostJoinTokenUses + 1},
			"cidr":     {Location: region, Networks: []string{"10.0.0.0/99"}},
			"name":     {Location: region, Name: strings.Repeat("n", 129)},
		} {
			y.Refused("a bad "+name, fault.InvalidRequest, func() error {
				_, _, err := y.Instances.CreateJoinToken(y.Ctx, in)
				if err != nil && !strings.Contains(err.Error(), name) {
					y.Errorf("the refusal of a bad %s does not name it: %v", name, err)
				}
				return err
			})
		}
	})
}

// A token for a group of machines counts its uses, and is useless once revoked.
func TestJoinToken_ManyMachines(t *testing.T) {
	in(t, instance.Options{}, func(y *yard) {
		token := y.token(instance.JoinTokenInput{Name: "autoscaling", MaxUses: 3, Life: 24 * time.Hour})
		y.Must(y.joinFrom(token, ""))
		wait.Settle(time.Hour)
		y.Must(y.joinFrom(token, ""))
		all := y.tokens()
		if len(all) != 1 || all[0].Uses != 2 || all[0].Left() != 1 || !all[0].LastUsed.Equal(time.Now()) || strings.Contains(token, all[0].ID()) {
			y.Fatalf("tokens %+v", all)
		}
		for h := range y.Instances.Hosts(y.Store.View()) {
			if h.JoinToken != all[0].ID() {
				y.Errorf("host %s joined with token %q, want %s", h.ID, h.JoinToken, all[0].ID())
			}
		}
		y.Must(y.Instances.RevokeJoinToken.Do(y.Ctx, all[0].ID()))
		y.Refused("a revoked token", fault.Unauthorized, func() error { return y.joinFrom(token, "") })
		y.Refused("revoking it again", fault.NotFound, func() error { return y.Instances.RevokeJoinToken.Do(y.Ctx, all[0].ID()) })
		if n := len(y.Recorded(event.HostTokenRevoked)); n != 1 {
			y.Errorf("%d events tell of it", n)
		}
	})
}

func TestJoinToken_Networks(t *testing.T) {
	in(t, instance.Options{}, func(y *yard) {
		token := y.token(instance.JoinTokenInput{MaxUses: 10, Networks: []string{"10.1.2.3/16", "192.0.2.7", "2001:db8::/32"}})
		for _, address := range []string{"10.2.0.1", "192.0.2.8", "2001:db9::1", ""} {
			y.Refused("a machine at "+address, fault.Unauthorized, func() error { return y.joinFrom(token, address) })
		}
		for _, address := range []string{"10.1.200.1", "192.0.2.7", "2001:db8:1::1", "::ffff:10.1.0.9"} {
			y.Must(y.joinFrom(token, address))
		}
	})
}
