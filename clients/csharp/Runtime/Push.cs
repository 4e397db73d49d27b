using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Muster
{
    /// <summary>The state of the push.</summary>
    public enum PushState
    {
        /// <summary>It is not wanted, or the server ended it for good: by too many connections of the player, or the end of the login.</summary>
        Closed,

        /// <summary>It is being connected, for the first time or again.</summary>
        Reconnecting,

        /// <summary>Changes arrive as they happen.</summary>
        Connected,

        /// <summary>It cannot be connected: changes are asked for every two seconds, while it is tried again.</summary>
        Polling,
    }

    public sealed partial class MusterClient
    {
        private readonly Push push;

        /// <summary>The state of the push.</summary>
        public PushState PushState { get { return push.State; } }

        /// <summary>
        /// Starts the push: what changes is raised as events, from now on. Following a ticket or
        /// placement starts it too.
        /// </summary>
        public void StartPush()
        {
            if (!withoutPush) push.Start();
        }

        /// <summary>Ends the push.</summary>
        public void StopPush() { push.Stop(); }

        // Push keeps a WebSocket open, and asks for changes while there is none.
        private sealed class Push
        {
            private const int GoingAway = 1001, LoginEnded = 4401, TooManyConnections = 4409, TooMuch = 4429;
            private const int FailuresToPoll = 3;
            private static readonly TimeSpan first = TimeSpan.FromMilliseconds(250), longest = TimeSpan.FromSeconds(30), pollEvery = TimeSpan.FromSeconds(2);
            private static readonly TimeSpan pingEvery = TimeSpan.FromSeconds(20), silentFor = TimeSpan.FromSeconds(50), answerWithin = TimeSpan.FromSeconds(10), calmDown = TimeSpan.FromSeconds(10);

            private readonly MusterClient client;
            private readonly string url;
            private readonly ISocketTransport sockets;
            private readonly SemaphoreSlim sending = new SemaphoreSlim(1, 1);
            private readonly object guard = new object();
            private CancellationTokenSource running; // guarded
            private volatile string cursor;          // of the last message
            private PushState state;                 // guarded

            internal Push(MusterClient client, string url, ISocketTransport sockets)
            {
                this.client = client;
                this.url = url;
                this.sockets = sockets;
            }

            internal PushState State { get { lock (guard) return state; } }

            internal void Start()
            {
                CancellationTokenSource source;
                lock (guard)
                {
                    if (running != null) return;
                    source = running = new CancellationTokenSource();
                }
                Become(PushState.Reconnecting, source);
                Task.Run(() => RunAsync(source));
            }

            internal void Stop()
            {
                CancellationTokenSource source;
                lock (guard)
                {
                    source = running;
                    running = null;
                }
                if (source == null) return;
                source.Cancel();
                Become(PushState.Closed, null);
            }

            // Become changes the state, unless the run that says so is over.
            private void Become(PushState next, CancellationTokenSource by)
            {
                lock (guard)
                {
                    if (running != by || state == next) return;
                    state = next;
                }
                client.watch.Interrupt();
                client.Post(() =>
                {
                    var changed = client.PushChanged;
                    if (changed != null) changed(next);
                });
            }

            private async Task RunAsync(CancellationTokenSource source)
            {
                var cancel = source.Token;
                try
                {
                    await KeepAsync(source, cancel).ConfigureAwait(false);
                }
                catch (OperationCanceledException) when (cancel.IsCancellationRequested)
                {
                    return;
                }
                catch (MusterException) // the login has ended; a request says so too
                {
                }
                Become(PushState.Closed, source);
                lock (guard)
                {
                    if (running == source) running = null;
                }
            }

            // KeepAsync connects again and again. It returns when the server does not want that.
            private async Task KeepAsync(CancellationTokenSource source, CancellationToken cancel)
            {
                string stale = null;
                for (var failures = 0; ;)
                {
                    var token = await TokenAsync(stale, cancel).ConfigureAwait(false);
                    stale = null;
                    var code = 0;
                    if (token != null)
                    {
                        var connected = await ConnectedAsync(source, token, cancel).ConfigureAwait(false);
                        if (connected.Key) failures = 0;
                        code = connected.Value;
                    }
                    cancel.ThrowIfCancellationRequested();
                    switch (code)
                    {
                        case TooManyConnections: return;
                        case LoginEnded: stale = token; break;
                        case TooMuch: await client.pauses.WaitAsync(calmDown, cancel).ConfigureAwait(false); break;
                    }
                    failures++;
                    Become(failures > FailuresToPoll ? PushState.Polling : PushState.Reconnecting, source);
                    var pause = code == GoingAway ? TimeSpan.Zero : client.pauses.Of(failures, first, longest);
                    if (failures <= FailuresToPoll) await client.pauses.WaitAsync(pause + first, cancel).ConfigureAwait(false);
                    else await PollAsync(pause, cancel).ConfigureAwait(false);
                }
            }

            // TokenAsync returns an access token; null if the server is not reached.
            private async Task<string> TokenAsync(string stale, CancellationToken cancel)
            {
                try
                {
                    return await client.account.AccessAsync(stale, cancel).ConfigureAwait(false);
                }
                catch (NetworkException)
                {
                    return null;
                }
                catch (ProblemException e) when (e.Status == 429 || e.Status >= 500)
                {
                    return null;
                }
            }

            // ConnectedAsync connects, and handles messages until the end of the connection. It
            // returns whether the player was let in, and the code with which the server closed it.
            private async Task<KeyValuePair<bool, int>> ConnectedAsync(CancellationTokenSource source, string token, CancellationToken cancel)
            {
                var entered = false;
                ISocket open = null;
                try
                {
                    using (var limit = CancellationTokenSource.CreateLinkedTokenSource(cancel))
                    {
                        limit.CancelAfter(answerWithin);
                        open = await sockets.ConnectAsync(url, PushMessage.Subprotocol, limit.Token).ConfigureAwait(false);
                    }
                    await SendAsync(open, Auth(token, cursor), cancel).ConfigureAwait(false);
                    using (var alive = CancellationTokenSource.CreateLinkedTokenSource(cancel))
                    {
                        alive.CancelAfter(answerWithin);
                        var pinging = PingAsync(open, alive.Token);
                        try
                        {
                            while (true)
                            {
                                var text = await open.ReceiveAsync(alive.Token).ConfigureAwait(false);
                                if (text == null) return new KeyValuePair<bool, int>(entered, open.CloseCode);
                                alive.CancelAfter(silentFor);
                                var message = JsonValue.Parse(text);
                                if (message["type"].Text() == PushMessage.AuthOk && !entered)
                                {
                                    entered = true;
                                    Become(PushState.Connected, source);
                                }
                                await HearAsync(open, message, alive.Token).ConfigureAwait(false);
                            }
                        }
                        finally
                        {
                            alive.Cancel();
                            await pinging.ConfigureAwait(false);
                        }
                    }
                }
                catch (OperationCanceledException) // of the limits, or of cancel
                {
                }
                catch (NetworkException)
                {
                }
                catch (FormatException) // a proxy speaks
                {
                }
                finally
                {
                    if (open != null) open.Dispose();
                }
                return new KeyValuePair<bool, int>(entered, 0);
            }

            private async Task HearAsync(ISocket open, JsonValue message, CancellationToken cancel)
            {
                var data = message["data"];
                switch (message["type"].Text())
                {
                    case PushMessage.MatchTicket: client.See(Ticket.FromJson(data)); break;
                    case PushMessage.Placement: client.See(Placement.FromJson(data)); break;
                    case PushMessage.Party: client.See(Party.FromJson(data)); break;
                    case PushMessage.PartyLeft: client.SeePartyLeft(); break;
                    case PushMessage.TokenExpiring:
                        var fresh = await TokenAsync(client.account.Current.Access, cancel).ConfigureAwait(false);
                        if (fresh != null) await SendAsync(open, Auth(fresh, null), cancel).ConfigureAwait(false);
                        break;
                }
                var at = message["cursor"].Text();
                if (at != null) cursor = at;
            }

            // PingAsync sends pings, so that a connection that is dead falls silent, until it ends.
            private async Task PingAsync(ISocket open, CancellationToken cancel)
            {
                try
                {
                    while (true)
                    {
                        await client.pauses.WaitAsync(pingEvery, cancel).ConfigureAwait(false);
                        await SendAsync(open, Simple(PushMessage.Ping), cancel).ConfigureAwait(false);
                    }
                }
                catch (OperationCanceledException)
                {
                }
                catch (MusterException)
                {
                }
            }

            // SendAsync sends one message at a time.
            private async Task SendAsync(ISocket open, string text, CancellationToken cancel)
            {
                await sending.WaitAsync(cancel).ConfigureAwait(false);
                try
                {
                    await open.SendAsync(text, cancel).ConfigureAwait(false);
                }
                finally
                {
                    sending.Release();
                }
            }

            // PollAsync asks for changes until it is time to try the push again.
            private async Task PollAsync(TimeSpan time, CancellationToken cancel)
            {
                for (var end = DateTime.UtcNow + time; ;)
                {
                    try
                    {
                        foreach (var ticket in (await client.Api.TicketsAsync(cancel: cancel).ConfigureAwait(false)).Items) client.See(ticket);
                        await client.LookAtPartyAsync(cancel).ConfigureAwait(false);
                    }
                    catch (NetworkException) // the next look may succeed
                    {
                    }
                    catch (ProblemException e) when (e.Status == 429 || e.Status >= 500)
                    {
                    }
                    await client.pauses.WaitAsync(pollEvery, cancel).ConfigureAwait(false);
                    if (DateTime.UtcNow >= end) return;
                }
            }

            private static string Auth(string token, string resume)
            {
                var data = new SocketAuth { AccessToken = token, Resume = resume };
                return JsonValue.Object().Set("type", JsonValue.Of(PushMessage.Auth)).Set("data", data.ToJson()).ToString();
            }

            private static string Simple(string type) { return JsonValue.Object().Set("type", JsonValue.Of(type)).ToString(); }
        }

        private void See(Ticket ticket)
        {
            if (!watch.Tickets.See(ticket)) return;
            Post(() =>
            {
                var changed = TicketChanged;
                if (changed != null) changed(ticket);
            });
        }

        private void See(Placement placement)
        {
            if (!watch.Placements.See(placement)) return;
            Post(() =>
            {
                var changed = PlacementChanged;
                if (changed != null) changed(placement);
            });
        }

        private void See(Party party)
        {
            partyId = party.PartyId;
            var text = party.ToJson().ToString();
            if (Interlocked.Exchange(ref lastParty, text) == text) return;
            Post(() =>
            {
                var changed = PartyChanged;
                if (changed != null) changed(party);
            });
        }

        private string lastParty; // as text, to raise each change once

        private void SeePartyLeft()
        {
            partyId = null;
            lastParty = null;
            Post(() =>
            {
                var left = PartyLeft;
                if (left != null) left();
            });
        }

        private async Task LookAtPartyAsync(CancellationToken cancel)
        {
            var id = partyId;
            if (id == null) return;
            try
            {
                See(await Api.GetPartyAsync(id, cancel).ConfigureAwait(false));
            }
            catch (ProblemException e) when (e.Status == 404)
            {
                SeePartyLeft();
            }
        }
    }
}
