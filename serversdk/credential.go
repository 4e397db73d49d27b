package serversdk

import (
	"context"

	"github.com/musterhq/muster/serversdk/protocol"
)

func getComputeCertificate(_ context.Context, c *call) (any, error) {
	at, err := c.s.opts.Computes.Find(c.s.opts.Store.View(), c.ref().FleetID, c.ref().ComputeName)
	if err != nil {
		return nil, err
	}
	return protocol.GetComputeCertificateResponse{
		Response: c.ok(), CertificatePath: at.CertificatePath, ComputeName: at.Name,
	}, nil
}

// getFleetRoleCredentials answers that the fleet has no role, which is true of every
// Anywhere fleet: all members are empty, and the SDKs remember that.
func getFleetRoleCredentials(_ context.Context, c *call, _ protocol.GetFleetRoleCredentialsRequest) (any, error) {
	return protocol.GetFleetRoleCredentialsResponse{Response: c.ok()}, nil
}
