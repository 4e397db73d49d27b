using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.IO;
using System.Net.Sockets;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Muster.Driver
{
    // Driver does with the library what the stories of all client libraries say
    // (clients/stories). It reads commands, and writes results and events, one JSON object a
    // line.
    internal static class Driver
    {
        private static readonly ConcurrentDictionary<string, Player> players = new ConcurrentDictionary<string, Player>();
        private static readonly ConcurrentDictionary<string, MemoryTokenStore> stores = new ConcurrentDictionary<string, MemoryTokenStore>();
        private static readonly ConcurrentDictionary<long, CancellationTokenSource> pending = new ConcurrentDictionary<long, CancellationTokenSource>();
        private static StreamWriter output;

        private static int Main(string[] args)
        {
            var at = args.Length > 0 ? args[0] : Environment.GetEnvironmentVariable("MUSTER_DRIVER");
            var colon = at.LastIndexOf(':');
            using (var connection = new TcpClient(at.Substring(0, colon), int.Parse(at.Substring(colon + 1))))
            {
                connection.NoDelay = true;
                var stream = connection.GetStream();
                var input = new StreamReader(stream, new UTF8Encoding(false));
                output = new StreamWriter(stream, new UTF8Encoding(false)) { AutoFlush = true, NewLine = "\n" };
                Write(JsonValue.Object().Set("hello", JsonValue.Of("csharp")).Set("runtime", JsonValue.Of("mono " + Environment.Version)).Set("skips", JsonValue.Object()));
                for (string line; (line = input.ReadLine()) != null;)
                {
                    var command = JsonValue.Parse(line);
                    Task.Run(() => AnswerAsync(command));
                }
            }
            return 0;
        }

        internal static void Write(JsonValue message)
        {
            var line = message.ToString();
            lock (output) output.WriteLine(line);
        }

        private static async Task AnswerAsync(JsonValue command)
        {
            var id = command["id"].Long();
            var answer = JsonValue.Object().Set("id", JsonValue.Of(id));
            using (var cancel = new CancellationTokenSource())
            {
                pending[id] = cancel;
                try
                {
                    answer.Set("result", await DoAsync(command, cancel.Token).ConfigureAwait(false) ?? JsonValue.Object());
                }
                catch (Exception e)
                {
                    answer.Set("error", ErrorOf(e));
                }
                CancellationTokenSource done;
                pending.TryRemove(id, out done);
            }
            Write(answer);
        }

        private static async Task<JsonValue> DoAsync(JsonValue command, CancellationToken cancel)
        {
            var name = command["client"].Text();
            var with = command["with"];
            var verb = command["do"].Text();
            if (verb == "cancel")
            {
                CancellationTokenSource source;
                if (pending.TryGetValue(with["id"].Long(), out source)) source.Cancel();
                return null;
            }
            if (verb == "open")
            {
                var store = stores.GetOrAdd(with["store"].Text() ?? name, _ => new MemoryTokenStore());
                players[name] = new Player(name, with, store);
                return null;
            }
            Player player;
            if (!players.TryGetValue(name ?? "", out player)) throw new ArgumentException("there is no client " + name);
            if (verb == "close")
            {
                player.Client.Dispose();
                players.TryRemove(name, out player);
                return null;
            }
            Func<JsonValue, CancellationToken, Task<JsonValue>> run;
            if (!player.Verbs.TryGetValue(verb ?? "", out run)) throw new ArgumentException("there is no verb " + verb);
            return await run(with, cancel).ConfigureAwait(false);
        }

        private static JsonValue ErrorOf(Exception e)
        {
            var problem = e as ProblemException;
            if (problem != null)
            {
                var json = problem.Problem.ToJson().Set("kind", JsonValue.Of("problem")).Set("status", JsonValue.Of(problem.Status)).Set("code", JsonValue.Of(problem.Code));
                if (problem.RetryAfter != null) json.Set("retry_after_seconds", JsonValue.Of(problem.RetryAfter.Value.TotalSeconds));
                return json;
            }
            var match = e as MatchException;
            if (match != null) return Kind("match", e).Set("ticket", match.Ticket.ToJson()).Set("state", JsonValue.Of(TicketStateText.Of(match.Ticket.State)));
            var placement = e as PlacementException;
            if (placement != null) return Kind("placement", e).Set("placement", placement.Placement.ToJson()).Set("state", JsonValue.Of(PlacementStateText.Of(placement.Placement.State)));
            if (e is AnswerTimeoutException) return Kind("timeout", e);
            if (e is NetworkException) return Kind("network", e);
            if (e is LoggedOutException) return Kind("logged_out", e);
            if (e is OperationCanceledException) return Kind("cancelled", e);
            return Kind("usage", e).Set("trace", JsonValue.Of(e.ToString()));
        }

        private static JsonValue Kind(string kind, Exception e)
        {
            return JsonValue.Object().Set("kind", JsonValue.Of(kind)).Set("detail", JsonValue.Of(e.Message));
        }
    }

    // Player is a client of the library with the verbs of stories.
    internal sealed class Player
    {
        internal readonly MusterClient Client;
        internal readonly Dictionary<string, Func<JsonValue, CancellationToken, Task<JsonValue>>> Verbs;
        private readonly string name;

        internal Player(string name, JsonValue with, MemoryTokenStore store)
        {
            this.name = name;
            Client = new MusterClient(with["url"].Text(), new MusterOptions { Tokens = store, WithoutPush = with["no_push"].Bool() });
            Client.TicketChanged += t => Event("ticket", t.ToJson());
            Client.PartyChanged += p => Event("party", p.ToJson());
            Client.PartyLeft += () => Event("partyLeft", JsonValue.Object());
            Client.PlacementChanged += p => Event("placement", p.ToJson());
            Client.SessionChanged += () => Event("session", Login());
            Client.PushChanged += s => Event("push", JsonValue.Object().Set("state", JsonValue.Of(s.ToString().ToLowerInvariant())));
            Verbs = VerbsOf();
        }

        private void Event(string what, JsonValue data)
        {
            Driver.Write(JsonValue.Object().Set("client", JsonValue.Of(name)).Set("event", JsonValue.Of(what)).Set("data", data));
        }

        private Dictionary<string, Func<JsonValue, CancellationToken, Task<JsonValue>>> VerbsOf()
        {
            var api = Client.Api;
            return new Dictionary<string, Func<JsonValue, CancellationToken, Task<JsonValue>>>
            {
                { "loginGuest", async (w, c) => { await Client.LoginGuestAsync(c); return Login(); } },
                { "loginProvider", async (w, c) => { await Client.LoginAsync(w["provider"].Text(), ProviderLogin.FromJson(w), c); return Login(); } },
                { "link", async (w, c) => { await Client.LinkAsync(w["provider"].Text(), ProviderLogin.FromJson(w), c); return Login(); } },
                { "unlink", async (w, c) => { await Client.UnlinkAsync(w["provider"].Text(), c); return null; } },
                { "merge", async (w, c) => { await Client.MergeAsync(MergeRequest.FromJson(w), c); return Login(); } },
                { "logout", async (w, c) => { await Client.LogoutAsync(w["all"].Bool(), c); return null; } },
                { "session", (w, c) => Task.FromResult(Login()) },
                { "me", async (w, c) => (await api.MeAsync(c)).ToJson() },
                { "changeMe", async (w, c) => (await api.ChangeMeAsync(PlayerChange.FromJson(w), cancel: c)).ToJson() },
                { "deleteMe", async (w, c) => { await Client.DeleteAccountAsync(c); return null; } },
                { "publicPlayer", async (w, c) => (await api.PublicPlayerAsync(w["player_id"].Text(), c)).ToJson() },
                { "lookUpPlayers", async (w, c) => (await api.LookUpPlayersAsync(PlayerLookup.FromJson(w), c)).ToJson() },
                { "getData", async (w, c) => { var v = await Client.GetDataAsync(w["namespace"].Text(), w["key"].Text(), c); return JsonValue.Object().Set("value", v.Key).Set("version", JsonValue.Of(v.Value)); } },
                { "putData", async (w, c) => JsonValue.Object().Set("version", JsonValue.Of(await Client.PutDataAsync(w["namespace"].Text(), w["key"].Text(), w["value"], w["version"].LongOrNull(), c))) },
                { "deleteData", async (w, c) => { await Client.DeleteDataAsync(w["namespace"].Text(), w["key"].Text(), w["version"].LongOrNull(), c); return null; } },
                { "allData", async (w, c) => (await api.AllDataAsync(w["namespace"].Text(), c)).ToJson() },
                { "config", async (w, c) => (await api.ConfigAsync(c)).ToJson() },
                { "locations", async (w, c) => (await api.LocationsAsync(c)).ToJson() },
                { "measureLatency", async (w, c) => Measured(await Client.MeasureLatencyAsync(Fast(), c)) },
                { "reportLatency", async (w, c) => (await api.ReportLatencyAsync(Report(w["latency_ms"]), c)).ToJson() },
                { "startMatchmaking", async (w, c) => (await api.StartMatchmakingAsync(TicketRequest.FromJson(w), c)).ToJson() },
                { "getTicket", async (w, c) => (await api.GetTicketAsync(w["ticket_id"].Text(), cancel: c)).ToJson() },
                { "tickets", async (w, c) => (await api.TicketsAsync(w["active"].BoolOrNull() == true ? "true" : w["active"].Text(), c)).ToJson() },
                { "stopMatchmaking", async (w, c) => { await Client.StopMatchmakingAsync(w["ticket_id"].Text(), c); return null; } },
                { "acceptMatch", async (w, c) => (await api.AcceptMatchAsync(w["ticket_id"].Text(), AcceptRequest.FromJson(w), c)).ToJson() },
                { "findMatch", FindMatch },
                { "followTicket", async (w, c) => (await Client.FollowTicketAsync(w["ticket_id"].Text(), t => Event("ticket", t.ToJson()), c)).ToJson() },
                { "createParty", async (w, c) => (await Client.CreatePartyAsync(w["matchmaker"].Text(), (int)w["max"].Long(), c)).ToJson() },
                { "joinParty", async (w, c) => (await Client.JoinPartyAsync(w["code"].Text(), c)).ToJson() },
                { "getParty", async (w, c) => (await api.GetPartyAsync(w["party_id"].Text(), c)).ToJson() },
                { "changeMember", async (w, c) => (await Client.ChangeMemberAsync(w["party_id"].Text(), MemberChange.FromJson(w), c)).ToJson() },
                { "leaveParty", async (w, c) => { await api.LeavePartyAsync(w["party_id"].Text(), w["player_id"].Text() ?? "me", c); return null; } },
                { "listSessions", async (w, c) => new GameSessions { Items = await Client.ListSessionsAsync(w["pool"].Text(), (int)(w["limit"].LongOrNull() ?? 20), w["location"].Text(), w["filter"].Text(), w["sort"].Text(), c) }.ToJson() },
                { "getSession", async (w, c) => (await api.GetSessionAsync(w["session_id"].Text(), c)).ToJson() },
                { "createSession", async (w, c) => (await api.CreateSessionAsync(SessionRequest.FromJson(w), c)).ToJson() },
                { "followPlacement", async (w, c) => (await Client.FollowPlacementAsync(w["placement_id"].Text(), c)).ToJson() },
                { "stopPlacement", async (w, c) => { await api.StopPlacementAsync(w["placement_id"].Text(), c); return null; } },
                { "joinSession", async (w, c) => (await Client.JoinSessionAsync(w["session_id"].Text(), w["player_data"].Text(), c)).ToJson() },
                { "reservations", async (w, c) => new Reservations { Items = await Client.ReservationsAsync(c) }.ToJson() },
                { "connectPush", (w, c) => { Client.StartPush(); return Task.FromResult<JsonValue>(null); } },
                { "disconnectPush", (w, c) => { Client.StopPush(); return Task.FromResult<JsonValue>(null); } },
            };
        }

        private JsonValue Login()
        {
            var json = JsonValue.Object().Set("logged_in", JsonValue.Of(Client.IsLoggedIn));
            if (Client.PlayerId != null) json.Set("player_id", JsonValue.Of(Client.PlayerId));
            return json;
        }

        // Fast measures quickly: the beacons are on this machine.
        private LatencyOptions Fast()
        {
            return new LatencyOptions { Samples = 3, Interval = TimeSpan.FromMilliseconds(120) };
        }

        private static LatencyReport Report(JsonValue milliseconds)
        {
            var report = new LatencyReport();
            foreach (var one in milliseconds.Members) report.Samples.Add(new LatencySample { Location = one.Key, RttMs = one.Value.Double(), Method = LatencySampleMethod.Udp });
            return report;
        }

        private static JsonValue Measured(List<LatencySample> samples)
        {
            var json = JsonValue.Object();
            foreach (var sample in samples) json.Set(sample.Location, JsonValue.Of(sample.RttMs));
            return json;
        }

        private async Task<JsonValue> FindMatch(JsonValue with, CancellationToken cancel)
        {
            var accept = with["accept"].BoolOrNull();
            var request = TicketRequest.FromJson(with);
            var options = new MatchOptions { Accept = (t, c) => Task.FromResult(accept ?? true), Changed = t => Event("ticket", t.ToJson()) };
            return (await Client.FindMatchAsync(request, options, cancel)).ToJson();
        }
    }
}
