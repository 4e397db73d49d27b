using System.Threading;
using System.Threading.Tasks;

namespace Muster
{
    // Parties: players who want to be matched together. Their leader starts matchmaking with
    // TicketRequest.PartyId; the others learn of the ticket from TicketChanged.
    public sealed partial class MusterClient
    {
        private volatile string partyId; // that polls ask for

        /// <summary>Creates a party for a matchmaker. Others join with its Code. max 0: as many as the matchmaker allows.</summary>
        public async Task<Party> CreatePartyAsync(string matchmaker, int max = 0, CancellationToken cancel = default(CancellationToken))
        {
            return In(await Api.CreatePartyAsync(new PartyRequest { Matchmaker = matchmaker, Max = max == 0 ? (long?)null : max }, cancel).ConfigureAwait(false));
        }

        /// <summary>Joins a party by its code.</summary>
        public async Task<Party> JoinPartyAsync(string code, CancellationToken cancel = default(CancellationToken))
        {
            return In(await Api.JoinPartyAsync(new PartyJoin { Code = code }, cancel).ConfigureAwait(false));
        }

        /// <summary>Changes what the player brings to a party: ready lasts for a minute, and for one ticket.</summary>
        public async Task<Party> ChangeMemberAsync(string partyId, MemberChange change, CancellationToken cancel = default(CancellationToken))
        {
            return In(await Api.ChangeMemberAsync(partyId, change, cancel).ConfigureAwait(false));
        }

        /// <summary>Leaves a party. If the leader leaves, the member who joined next leads.</summary>
        public Task LeavePartyAsync(string partyId, CancellationToken cancel = default(CancellationToken)) { return Api.LeavePartyAsync(partyId, "me", cancel); }

        /// <summary>Removes a member from a party that the player leads.</summary>
        public Task RemoveMemberAsync(string partyId, string playerId, CancellationToken cancel = default(CancellationToken)) { return Api.LeavePartyAsync(partyId, playerId, cancel); }

        private Party In(Party party)
        {
            partyId = party.PartyId;
            return party;
        }
    }
}
