// Higher or lower: a player. C# 7.2, for .NET, Mono and Unity, with Muster's library.
using System;
using System.Net.Http;
using System.Threading.Tasks;
using Muster;

public sealed class Player : IDisposable
{
    private readonly MusterClient client;
    private readonly HttpClient http = new HttpClient();
    private Connection game;

    public Player(string url, MusterOptions options = null) { client = new MusterClient(url, options); }

    public void Dispose() { client.Dispose(); }

    /// <summary>Logs in as a guest, and returns when there is somebody to play with.</summary>
    public async Task Find()
    {
        await client.LoginGuestAsync();
        game = await client.FindMatchAsync(new TicketRequest { Matchmaker = "exec" });
    }

    /// <summary>Returns what the game server answers; the game is over when that begins with "you ".</summary>
    public async Task<string> Guess(string number)
    {
        var answer = await http.PostAsync("http://" + game.Host + ":" + game.Port + "/", new StringContent(game.PlayerSessionId + " " + number));
        return await answer.Content.ReadAsStringAsync();
    }

    public static void Main()
    {
        var url = Environment.GetEnvironmentVariable("MUSTER_ENDPOINT") ?? "http://127.0.0.1:9080";
        using (var player = new Player(url))
        {
            Console.WriteLine("looking for somebody to play with ...");
            player.Find().GetAwaiter().GetResult();
            Console.WriteLine("guess a number from 1 to 100");
            for (var answer = ""; !answer.StartsWith("you ");)
            {
                answer = player.Guess(Console.ReadLine()).GetAwaiter().GetResult();
                Console.WriteLine(answer);
            }
        }
    }
}
