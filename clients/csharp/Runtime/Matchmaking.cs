using System;
using System.Collections.Generic;
using System.Globalization;
using System.Threading;
using System.Threading.Tasks;

namespace Muster
{
    /// <summary>How FindMatchAsync follows a ticket.</summary>
    public sealed class MatchOptions
    {
        /// <summary>Asks the player whether to accept a proposed match; null accepts at once.</summary>
        public Func<Ticket, CancellationToken, Task<bool>> Accept;

        /// <summary>Receives the ticket with each change.</summary>
        public Action<Ticket> Changed;
    }

    public sealed partial class MusterClient
    {
        private const string LongPoll = "20"; // seconds; the API allows 25
        private static readonly TimeSpan look = TimeSpan.FromSeconds(15), farewell = TimeSpan.FromSeconds(5);
        private readonly Watch watch = new Watch();

        /// <summary>
        /// Takes the player to a match: starts matchmaking, accepts if that is asked for, and returns
        /// where to play. It throws MatchException if the ticket ends without a match. If cancel is
        /// cancelled, the ticket is stopped.
        /// </summary>
        public async Task<Connection> FindMatchAsync(TicketRequest request, MatchOptions options = null, CancellationToken cancel = default(CancellationToken))
        {
            options = options ?? new MatchOptions();
            StartPush();
            var ticket = await StartMatchmakingAsync(request, cancel).ConfigureAwait(false);
            try
            {
                string answered = null; // the match that was accepted or rejected
                Func<Ticket, Task> changed = async now =>
                {
                    if (options.Changed != null) Post(() => options.Changed(now));
                    if (now.State != TicketState.RequiresAcceptance || now.MatchId == answered || now.Acceptance != null && now.Acceptance.Mine != null) return;
                    answered = now.MatchId;
                    var accept = options.Accept == null || await options.Accept(now, cancel).ConfigureAwait(false);
                    try
                    {
                        await Api.AcceptMatchAsync(now.TicketId, new AcceptRequest { Accept = accept }, cancel).ConfigureAwait(false);
                    }
                    catch (ProblemException e) when (e.Code == "not-awaiting-acceptance") // it was too late
                    {
                    }
                };
                var end = await FollowAsync(ticket, changed, cancel).ConfigureAwait(false);
                if (end.State != TicketState.Completed || end.Connection == null) throw new MatchException(end);
                return end.Connection;
            }
            catch (OperationCanceledException)
            {
                await StopQuietlyAsync(ticket.TicketId).ConfigureAwait(false);
                throw;
            }
        }

        /// <summary>
        /// Requests a match. If the answer is lost, the ticket that the server may have created is
        /// found, so that the player is on one at most.
        /// </summary>
        public async Task<Ticket> StartMatchmakingAsync(TicketRequest request, CancellationToken cancel = default(CancellationToken))
        {
            NetworkException lost;
            try
            {
                return await Api.StartMatchmakingAsync(request, cancel).ConfigureAwait(false);
            }
            catch (NetworkException e)
            {
                lost = e;
            }
            var open = await Api.TicketsAsync("true", cancel).ConfigureAwait(false);
            foreach (var ticket in open.Items)
                if (ticket.Matchmaker == request.Matchmaker && ticket.PartyId == request.PartyId) return ticket;
            throw lost;
        }

        /// <summary>Stops a ticket. One that has ended already is no error.</summary>
        public async Task StopMatchmakingAsync(string ticketId, CancellationToken cancel = default(CancellationToken))
        {
            try
            {
                await Api.StopMatchmakingAsync(ticketId, cancel).ConfigureAwait(false);
            }
            catch (ProblemException e) when (e.Code == "ticket-ended")
            {
            }
        }

        private async Task StopQuietlyAsync(string ticketId)
        {
            using (var soon = new CancellationTokenSource(farewell))
            {
                try
                {
                    await StopMatchmakingAsync(ticketId, soon.Token).ConfigureAwait(false);
                }
                catch (MusterException) // it ends by its own time limit
                {
                }
                catch (OperationCanceledException)
                {
                }
            }
        }

        /// <summary>Returns a ticket when it has ended. changed receives it with each change before.</summary>
        public async Task<Ticket> FollowTicketAsync(string ticketId, Action<Ticket> changed = null, CancellationToken cancel = default(CancellationToken))
        {
            StartPush();
            var ticket = await Api.GetTicketAsync(ticketId, cancel: cancel).ConfigureAwait(false);
            return await FollowAsync(ticket, now =>
            {
                if (changed != null) Post(() => changed(now));
                return Task.FromResult(true);
            }, cancel).ConfigureAwait(false);
        }

        private async Task<Ticket> FollowAsync(Ticket ticket, Func<Ticket, Task> changed, CancellationToken cancel)
        {
            while (true)
            {
                See(ticket);
                await changed(ticket).ConfigureAwait(false);
                if (HasEnded(ticket)) return ticket;
                var known = ticket;
                ticket = await NextAsync(watch.Tickets, known.TicketId, known.Seq, t => t.Seq,
                    (wait, tag) => Api.GetTicketAsync(known.TicketId, wait, tag, cancel), cancel).ConfigureAwait(false);
            }
        }

        /// <summary>Returns a placement when it is fulfilled. It throws PlacementException if it ends otherwise.</summary>
        public async Task<Placement> FollowPlacementAsync(string placementId, CancellationToken cancel = default(CancellationToken))
        {
            StartPush();
            var placement = await Api.GetPlacementAsync(placementId, cancel: cancel).ConfigureAwait(false);
            See(placement);
            while (placement.State == PlacementState.Pending)
            {
                placement = await NextAsync(watch.Placements, placementId, placement.Seq, p => p.Seq,
                    (wait, tag) => Api.GetPlacementAsync(placementId, wait, tag, cancel), cancel).ConfigureAwait(false);
                See(placement);
            }
            if (placement.State != PlacementState.Fulfilled) throw new PlacementException(placement);
            return placement;
        }

        private static bool HasEnded(Ticket ticket)
        {
            switch (ticket.State)
            {
                case TicketState.Completed: case TicketState.Failed: case TicketState.Cancelled: case TicketState.TimedOut: return true;
            }
            return false;
        }

        // NextAsync returns a row that is newer than seq: from the push while that is connected,
        // else by long polls. A row is also read now and then while the push is connected, and
        // when it has just connected.
        private async Task<T> NextAsync<T>(Watch.Rows<T> rows, string id, long seq, Func<T, long> seqOf, Func<string, string, Task<T>> get, CancellationToken cancel) where T : class
        {
            for (var failures = 0; ;)
            {
                var pushed = push.State == PushState.Connected;
                if (pushed)
                {
                    var news = await rows.NextAsync(id, seq, look, cancel).ConfigureAwait(false);
                    if (news != null) return news;
                }
                try
                {
                    var row = await get(pushed || push.State == PushState.Connected ? null : LongPoll, MusterClient.Tag(seq)).ConfigureAwait(false);
                    if (row != null && seqOf(row) > seq) return row;
                    failures = 0;
                    if (!pushed) await pauses.WaitAsync(pauses.Of(1, TimeSpan.FromMilliseconds(50), TimeSpan.FromMilliseconds(50)), cancel).ConfigureAwait(false);
                }
                catch (MusterException e) when (e is NetworkException || e is ProblemException && ((ProblemException)e).Status >= 429)
                {
                    await pauses.WaitAsync(pauses.Of(++failures, TimeSpan.FromMilliseconds(500), TimeSpan.FromSeconds(10)), cancel).ConfigureAwait(false);
                }
            }
        }
    }

    // Watch holds who waits for news of tickets and placements.
    internal sealed class Watch
    {
        internal readonly Rows<Ticket> Tickets = new Rows<Ticket>(t => t.TicketId, t => t.Seq);
        internal readonly Rows<Placement> Placements = new Rows<Placement>(p => p.PlacementId, p => p.Seq);

        // Interrupt ends all waits without news: the state of the push has changed.
        internal void Interrupt()
        {
            Tickets.Interrupt();
            Placements.Interrupt();
        }

        internal sealed class Rows<T> where T : class
        {
            private const int Most = 256; // rows that are remembered
            private readonly Func<T, string> idOf;
            private readonly Func<T, long> seqOf;
            private readonly Dictionary<string, T> newest = new Dictionary<string, T>();
            private readonly Queue<string> order = new Queue<string>();
            private TaskCompletionSource<bool> changed = NewSource();

            internal Rows(Func<T, string> idOf, Func<T, long> seqOf)
            {
                this.idOf = idOf;
                this.seqOf = seqOf;
            }

            // See records a row, and reports whether it is newer than the one before.
            internal bool See(T row)
            {
                lock (newest)
                {
                    T before;
                    var id = idOf(row);
                    if (newest.TryGetValue(id, out before) && seqOf(before) >= seqOf(row)) return false;
                    if (before == null)
                    {
                        order.Enqueue(id);
                        if (order.Count > Most) newest.Remove(order.Dequeue());
                    }
                    newest[id] = row;
                }
                Interrupt();
                return true;
            }

            internal void Interrupt()
            {
                TaskCompletionSource<bool> waiting;
                lock (newest)
                {
                    waiting = changed;
                    changed = NewSource();
                }
                waiting.TrySetResult(true);
            }

            // NextAsync returns a row newer than seq, or null after a while, or once the push has
            // changed its state.
            internal async Task<T> NextAsync(string id, long seq, TimeSpan patience, CancellationToken cancel)
            {
                Task wait;
                lock (newest)
                {
                    T row;
                    if (newest.TryGetValue(id, out row) && seqOf(row) > seq) return row;
                    wait = changed.Task;
                }
                using (var timer = CancellationTokenSource.CreateLinkedTokenSource(cancel))
                {
                    await Task.WhenAny(wait, Task.Delay(patience, timer.Token)).ConfigureAwait(false);
                    timer.Cancel();
                }
                cancel.ThrowIfCancellationRequested();
                lock (newest)
                {
                    T row;
                    return newest.TryGetValue(id, out row) && seqOf(row) > seq ? row : null;
                }
            }

            private static TaskCompletionSource<bool> NewSource()
            {
                return new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
            }
        }
    }
}
