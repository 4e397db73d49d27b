using System;
using System.Collections.Generic;
using System.Globalization;
using System.Threading;
using System.Threading.Tasks;

namespace Muster
{
    /// <summary>How a client works. Members that are null mean the defaults.</summary>
    public sealed class MusterOptions
    {
        /// <summary>Makes requests; default: HttpClientTransport. In Unity, use UnityWebRequestTransport.</summary>
        public IHttpTransport Http;

        /// <summary>Opens WebSockets; default: ClientSocketTransport.</summary>
        public ISocketTransport Sockets;

        /// <summary>Keeps the login; default: MemoryTokenStore, which loses it with the process.</summary>
        public ITokenStore Tokens;

        /// <summary>Where events are raised; default: the context of the thread that creates the client, such as Unity's main thread.</summary>
        public SynchronizationContext Context;

        /// <summary>Does without push: tickets are followed by long polls.</summary>
        public bool WithoutPush;

        /// <summary>The clock, for tests.</summary>
        public Func<DateTime> Now;

        /// <summary>Waits, for tests.</summary>
        public Func<TimeSpan, CancellationToken, Task> Wait;
    }

    /// <summary>
    /// One player of Muster's player API: logs in, keeps the login fresh, finds matches, follows
    /// what changes, and lists, creates and joins game sessions. It can be used by several
    /// threads. Errors are subclasses of MusterException, and OperationCanceledException.
    /// </summary>
    public sealed partial class MusterClient : IDisposable
    {
        private readonly Account account;
        private readonly Caller caller;
        private readonly Pauses pauses;
        private readonly SynchronizationContext context;
        private readonly bool withoutPush;

        /// <summary>The requests as they are described, with this player's login.</summary>
        public PlayerApi Api { get; private set; }

        /// <summary>A ticket of the player has changed. Each state is told once, in order.</summary>
        public event Action<Ticket> TicketChanged;

        /// <summary>The player's party has changed.</summary>
        public event Action<Party> PartyChanged;

        /// <summary>The player is no longer in a party.</summary>
        public event Action PartyLeft;

        /// <summary>A game session that the player asked for has changed.</summary>
        public event Action<Placement> PlacementChanged;

        /// <summary>The push is connected, or is not.</summary>
        public event Action<PushState> PushChanged;

        /// <summary>A player has logged in, or is logged out: PlayerId and IsLoggedIn say which.</summary>
        public event Action SessionChanged;

        /// <summary>Creates a client of the server at url, such as https://play.example.com. It sends nothing.</summary>
        public MusterClient(string url, MusterOptions options = null)
        {
            options = options ?? new MusterOptions();
            Uri at;
            if (!Uri.TryCreate(url, UriKind.Absolute, out at) || at.Scheme != "http" && at.Scheme != "https") throw new ArgumentException("url: \"" + url + "\" is no http or https URL");
            var server = url.TrimEnd('/');
            var now = options.Now ?? (() => DateTime.UtcNow);
            context = options.Context ?? SynchronizationContext.Current;
            withoutPush = options.WithoutPush;
            pauses = new Pauses(options.Wait ?? Task.Delay);
            caller = new Caller(server, options.Http ?? new HttpClientTransport(), pauses);
            Api = new PlayerApi(caller);
            account = caller.Account = new Account(Api, options.Tokens ?? new MemoryTokenStore(), now, SeeSession);
            push = new Push(this, "ws" + server.Substring("http".Length) + "/player/v1/ws", options.Sockets ?? new ClientSocketTransport());
        }

        /// <summary>The id of the player who is logged in; null before the first login.</summary>
        public string PlayerId { get { return account.Current.PlayerId; } }

        /// <summary>Reports whether a player is logged in.</summary>
        public bool IsLoggedIn { get { return account.Current.Access != null; } }

        /// <summary>Ends the push. The login remains.</summary>
        public void Dispose() { push.Stop(); }

        /// <summary>Logs in with the stored login, else as a new guest, and returns the player's id.</summary>
        public async Task<string> LoginGuestAsync(CancellationToken cancel = default(CancellationToken))
        {
            return (await account.ComeBackAsync(true, cancel).ConfigureAwait(false)).PlayerId;
        }

        /// <summary>Logs in with the stored login. It throws LoggedOutException if there is none.</summary>
        public async Task<string> ResumeAsync(CancellationToken cancel = default(CancellationToken))
        {
            return (await account.ComeBackAsync(false, cancel).ConfigureAwait(false)).PlayerId;
        }

        /// <summary>
        /// Logs in with an account of a provider, which the server's configuration names. A player
        /// is created if the account has none, unless login.Create is false.
        /// </summary>
        public async Task<string> LoginAsync(string provider, ProviderLogin login, CancellationToken cancel = default(CancellationToken))
        {
            return (await account.EnterAsync(() => Api.LoginProviderAsync(provider, login, cancel), cancel).ConfigureAwait(false)).PlayerId;
        }

        /// <summary>
        /// Adds a provider's account to the player. The problem identity-in-use says that it belongs
        /// to another player; its ConflictToken is for MergeAsync.
        /// </summary>
        public Task LinkAsync(string provider, ProviderLogin login, CancellationToken cancel = default(CancellationToken))
        {
            return account.EnterAsync(() => Api.LinkAsync(provider, login, cancel), cancel);
        }

        /// <summary>Removes a provider's account from the player.</summary>
        public Task UnlinkAsync(string provider, CancellationToken cancel = default(CancellationToken)) { return Api.UnlinkAsync(provider, cancel); }

        /// <summary>
        /// Makes one player of two. The one that is not kept is deleted for good: let the player
        /// choose. With keep theirs, the other player is logged in afterwards.
        /// </summary>
        public async Task<string> MergeAsync(MergeRequest request, CancellationToken cancel = default(CancellationToken))
        {
            return (await account.EnterAsync(() => Api.MergeAsync(request, cancel), cancel).ConfigureAwait(false)).PlayerId;
        }

        /// <summary>
        /// Ends this login, or all logins of the player. A guest's secret stays in the token store,
        /// since it is the only way back into the account.
        /// </summary>
        public async Task LogoutAsync(bool everywhere = false, CancellationToken cancel = default(CancellationToken))
        {
            push.Stop();
            var request = new ApiRequest("POST", "/player/v1/auth/logout", everywhere ? ApiAccess.Player : ApiAccess.Open, true);
            request.Body = everywhere ? JsonValue.Object().Set("all", JsonValue.Of(true)) : JsonValue.Object().Set("refresh_token", JsonValue.Of(account.Current.Refresh));
            if (everywhere || account.Current.Refresh != null) await caller.SendAsync(request, cancel).ConfigureAwait(false);
            await account.ForgetAsync(true, cancel).ConfigureAwait(false);
        }

        /// <summary>Deletes the player with all data. It cannot be undone.</summary>
        public async Task DeleteAccountAsync(CancellationToken cancel = default(CancellationToken))
        {
            await Api.DeleteMeAsync(cancel).ConfigureAwait(false);
            push.Stop();
            await account.ForgetAsync(false, cancel).ConfigureAwait(false);
        }

        /// <summary>Returns a value of the player's data, and its version for PutDataAsync. namespace is private, public or server.</summary>
        public async Task<KeyValuePair<JsonValue, long>> GetDataAsync(string @namespace, string key, CancellationToken cancel = default(CancellationToken))
        {
            var answer = await Api.GetDataAsync(@namespace, key, cancel).ConfigureAwait(false);
            return new KeyValuePair<JsonValue, long>(answer.Body, answer.Version);
        }

        /// <summary>A version for PutDataAsync: there must be no value yet.</summary>
        public const long NoVersion = 0;

        /// <summary>
        /// Writes a value of the player's data, and returns its version. With expected, only if that
        /// is the present version; otherwise the problem is precondition-failed.
        /// </summary>
        public async Task<long> PutDataAsync(string @namespace, string key, JsonValue value, long? expected = null, CancellationToken cancel = default(CancellationToken))
        {
            var item = await Api.PutDataAsync(@namespace, key, value, expected > NoVersion ? Tag(expected.Value) : null, expected == NoVersion ? "*" : null, cancel).ConfigureAwait(false);
            return item.Version;
        }

        /// <summary>Deletes a value of the player's data; with expected, only if that is its version.</summary>
        public Task DeleteDataAsync(string @namespace, string key, long? expected = null, CancellationToken cancel = default(CancellationToken))
        {
            return Api.DeleteDataAsync(@namespace, key, expected == null ? null : Tag(expected.Value), cancel);
        }

        internal static string Tag(long version) { return "\"" + version.ToString(CultureInfo.InvariantCulture) + "\""; }

        /// <summary>Returns games of a pool that can be joined, at most limit (1 to 20). filter and sort
        /// are expressions as in SearchGameSessions, on what players see.</summary>
        public async Task<List<GameSession>> ListSessionsAsync(string pool, int limit = 20, string location = null, string filter = null, string sort = null, CancellationToken cancel = default(CancellationToken))
        {
            return (await Api.ListSessionsAsync(pool, limit.ToString(CultureInfo.InvariantCulture), location, filter, sort, cancel).ConfigureAwait(false)).Items;
        }

        /// <summary>Reserves a place in a game session. A player who has one gets the same again.</summary>
        public Task<Reservation> JoinSessionAsync(string sessionId, string playerData = null, CancellationToken cancel = default(CancellationToken))
        {
            return Api.JoinSessionAsync(sessionId, new JoinRequest { PlayerData = playerData }, cancel);
        }

        /// <summary>Asks for a new game session and returns where to play. It throws PlacementException if there is none.</summary>
        public async Task<Connection> CreateSessionAsync(SessionRequest request, CancellationToken cancel = default(CancellationToken))
        {
            StartPush();
            var placement = await Api.CreateSessionAsync(request, cancel).ConfigureAwait(false);
            return (await FollowPlacementAsync(placement.PlacementId, cancel).ConfigureAwait(false)).Connection;
        }

        /// <summary>Returns the games to come back to after a crash.</summary>
        public async Task<List<Reservation>> ReservationsAsync(CancellationToken cancel = default(CancellationToken))
        {
            return (await Api.ReservationsAsync(cancel).ConfigureAwait(false)).Items;
        }

        private void SeeSession()
        {
            Post(() =>
            {
                var changed = SessionChanged;
                if (changed != null) changed();
            });
        }

        // Post raises an event where the game expects it.
        internal void Post(Action raise)
        {
            if (context == null) raise();
            else context.Post(_ => raise(), null);
        }
    }
}
