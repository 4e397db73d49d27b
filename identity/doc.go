// Package identity manages players: their accounts, how they prove who they are,
// and the tokens they carry.
//
// A player is a guest, known by a secret that only the device has, or is linked
// to external accounts (Steam, Apple, Google, Facebook, Epic, any OpenID Connect
// provider, an operator's own webhook), or both. A player who has logged in gets
// an access token, a JWT that anyone can verify with the published key set,
// and a refresh token, which is rotated on every use: if an old one is used
// again, it was stolen, and the whole family of tokens ends.
//
// Secrets are not stored: guest secrets are kept as SHA-256, refresh tokens not at
// all (a MAC over family and generation), signing keys sealed under the
// deployment's master key. Secrets are created before a command runs, so that no
// recording contains one.
//
// It also keeps the data of players, with versions. It knows nothing of games,
// matches or HTTP.
package identity
