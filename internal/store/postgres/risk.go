package postgres

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Risks returns, as sentences for operators, the risks of a database that works: others
// could read its connections, or a failover could lose commits.
func (d *Driver) Risks(ctx context.Context) ([]string, error) {
	config, err := d.config()
	if err != nil {
		return nil, err
	}
	var risks []string
	if hosts := withoutTLS(config.ConnConfig); len(hosts) > 0 {
		risks = append(risks, fmt.Sprintf("connections to PostgreSQL at %s may be made without TLS, which sslmode disable, allow and prefer (the default) permit: "+
			"who is in between sees players' data and can change the state; use sslmode=verify-full", strings.Join(hosts, ", ")))
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return risks, fmt.Errorf("look at PostgreSQL's replication: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	// A role that may not see other connections sees that they exist, with NULL for
	// their state.
	var standbys int
	err = conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_replication
		WHERE current_setting('synchronous_standby_names') = '' AND coalesce(state, 'streaming') = 'streaming'`).Scan(&standbys)
	if err != nil {
		return risks, fmt.Errorf("look at PostgreSQL's replication: %w", err)
	}
	if standbys > 0 {
		risks = append(risks, fmt.Sprintf("PostgreSQL has %d standbys and none of them is synchronous: a failover loses commits that players and game servers were told of; "+
			"set synchronous_standby_names", standbys))
	}
	return risks, nil
}

// withoutTLS returns the hosts, other than this machine, to which a connection could be
// made without TLS.
func withoutTLS(config *pgx.ConnConfig) []string {
	var hosts []string
	add := func(host string, tls bool) {
		addr, err := netip.ParseAddr(host)
		here := strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") || host == "localhost" || err == nil && addr.IsLoopback()
		if !tls && !here && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	add(config.Host, config.TLSConfig != nil)
	for _, f := range config.Fallbacks {
		add(f.Host, f.TLSConfig != nil)
	}
	return hosts
}
