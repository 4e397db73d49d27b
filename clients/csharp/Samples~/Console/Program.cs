// A guest finds a match and prints where to play. With bin/muster local in one terminal, run this
// in two others, for two players:
//
//   mcs -langversion:7.2 -out:duel.exe -r:System.Net.Http.dll -recurse:'clients/csharp/Runtime/*.cs' \
//     'clients/csharp/Samples~/Console/Program.cs'
//   mono duel.exe
//
// Arguments: the server's URL, the matchmaker, a file that keeps the login.
using System;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Muster.Samples
{
    internal static class Program
    {
        private static int Main(string[] args)
        {
            var url = args.Length > 0 ? args[0] : "http://127.0.0.1:9080";
            var store = args.Length > 2 ? new FileTokenStore(args[2]) : (ITokenStore)new MemoryTokenStore();
            using (var client = new MusterClient(url, new MusterOptions { Tokens = store }))
            using (var interrupted = new CancellationTokenSource())
            {
                // Ctrl-C stops the ticket as well.
                Console.CancelKeyPress += (_, e) =>
                {
                    e.Cancel = true;
                    interrupted.Cancel();
                };
                try
                {
                    Play(client, args.Length > 1 ? args[1] : null, interrupted.Token).GetAwaiter().GetResult();
                    return 0;
                }
                catch (MatchException e)
                {
                    Console.Error.WriteLine("no match: " + e.Ticket.State);
                }
                catch (ProblemException e)
                {
                    Console.Error.WriteLine("refused: " + e.Message);
                }
                catch (OperationCanceledException)
                {
                    Console.Error.WriteLine("interrupted");
                }
                return 1;
            }
        }

        private static async Task Play(MusterClient client, string wanted, CancellationToken cancel)
        {
            client.PushChanged += state => Console.WriteLine("changes: " + state);
            Console.WriteLine("player: " + await client.LoginGuestAsync(cancel));
            var unfinished = (await client.ReservationsAsync(cancel)).FirstOrDefault();
            var place = unfinished != null ? unfinished.Connection : await FindMatch(client, wanted, cancel);
            Console.WriteLine("play: " + place.Host + ":" + place.Port + " as " + place.PlayerSessionId);
        }

        private static async Task<Connection> FindMatch(MusterClient client, string wanted, CancellationToken cancel)
        {
            var matchmaker = await ChooseMatchmaker(client, wanted, cancel);
            var samples = await client.MeasureLatencyAsync(cancel: cancel);
            foreach (var sample in samples) Console.WriteLine("latency: " + sample.Location + " " + sample.RttMs.ToString("F1") + " ms (" + sample.Method + ")");
            await client.Api.ReportLatencyAsync(new LatencyReport { Samples = samples }, cancel); // so that the match is near
            var begun = DateTime.UtcNow;
            return await client.FindMatchAsync(new TicketRequest { Matchmaker = matchmaker }, new MatchOptions
            {
                Changed = ticket => Console.WriteLine("ticket: " + ticket.State + " after " + (DateTime.UtcNow - begun).TotalSeconds.ToString("F1") + " s"),
                Accept = (ticket, _) =>
                {
                    Console.WriteLine("a match is proposed to " + ticket.Players.Count + " players: accepted");
                    return Task.FromResult(true);
                },
            }, cancel);
        }

        private static async Task<string> ChooseMatchmaker(MusterClient client, string wanted, CancellationToken cancel)
        {
            var all = (await client.Api.ConfigAsync(cancel)).Matchmakers;
            var chosen = all.FirstOrDefault(m => wanted == null || m.Name == wanted);
            if (chosen == null) throw new ArgumentException("the server has the matchmakers: " + string.Join(", ", all.Select(m => m.Name)));
            Console.WriteLine("matchmaker: " + chosen.Name + (chosen.Acceptance ? ", matches have to be accepted" : ""));
            return chosen.Name;
        }
    }
}
