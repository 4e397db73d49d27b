// Higher or lower: the game server. C# 7.2, for .NET, Mono and Unity; Muster's library reads JSON.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Http;
using System.Text;
using System.Threading.Tasks;
using Muster;

public static class Server
{
    private static readonly HttpClient http = new HttpClient(new HttpClientHandler { UseProxy = false });
    private static readonly int secret = new Random().Next(1, 101);
    private static readonly HashSet<string> players = new HashSet<string>();
    private static string winner;
    private static DateTime lastGuess;

    public static void Main() { Run().GetAwaiter().GetResult(); }

    /// <summary>Hosts one game, to its end.</summary>
    public static async Task Run()
    {
        http.DefaultRequestHeaders.Add("Authorization", "Bearer " + Environment.GetEnvironmentVariable("MUSTER_GAME_TOKEN"));
        var listener = new HttpListener();
        listener.Prefixes.Add("http://*:" + Environment.GetEnvironmentVariable("GAME_PORT") + "/");
        listener.Start();
        _ = Serve(listener); // from now on, beside what follows
        await Say("POST", "/ready"); // Muster may now start a game here
        for (var state = ""; state != "ending" && !(state == "active" && await Over());)
        {
            await Task.Delay(1000);
            state = (await Say("GET", "/session"))["state"].Text();
            if (state != "activating") continue;
            await Say("POST", "/session/activate"); // it has started one: let the players in
            lastGuess = DateTime.UtcNow;
        }
        await Say("POST", "/end");
    }

    /// <summary>Tells Muster something, or asks it, and returns the answer.</summary>
    private static async Task<JsonValue> Say(string method, string path, string body = "{}")
    {
        var url = Environment.GetEnvironmentVariable("MUSTER_GAME_URL") + path;
        for (;; await Task.Delay(1000)) // nobody answers for a moment, as when the agent restarts: nothing is done twice
        {
            var request = new HttpRequestMessage(new HttpMethod(method), url);
            if (method == "POST") request.Content = new StringContent(body, Encoding.UTF8, "application/json");
            HttpResponseMessage answer;
            try { answer = await http.SendAsync(request); } catch (HttpRequestException) { continue; }
            if (answer.StatusCode == HttpStatusCode.ServiceUnavailable) continue;
            answer.EnsureSuccessStatusCode();
            var text = await answer.Content.ReadAsStringAsync();
            return text == "" ? JsonValue.Null : JsonValue.Parse(text);
        }
    }

    /// <summary>Reports whether everybody knows who has won, or nobody plays any more.</summary>
    private static async Task<bool> Over()
    {
        var all = (await Say("GET", "/players"))["players"].Items.Select(player => player["state"].Text());
        var done = all.All(state => state == "completed" || state == "timed_out");
        return winner != null && done || DateTime.UtcNow - lastGuess > TimeSpan.FromSeconds(60);
    }

    private static async Task Serve(HttpListener listener)
    {
        while (true)
        {
            var context = await listener.GetContextAsync();
            try
            {
                // A guess: the player session, a space, the number.
                var body = await new StreamReader(context.Request.InputStream).ReadToEndAsync();
                var words = body.Trim().Split(' ');
                var text = "send your player session and a number";
                int number;
                if (words.Length == 2 && int.TryParse(words[1], out number)) text = await Guess(words[0], number);
                context.Response.AddHeader("Access-Control-Allow-Origin", "*"); // for players in browsers
                context.Response.Close(Encoding.UTF8.GetBytes(text), true);
            }
            catch (Exception e) // such as a player who is gone
            {
                Console.Error.WriteLine(e.Message);
                context.Response.Abort();
            }
        }
    }

    /// <summary>Answers a guess. The player is the player session that Muster gave to the client.</summary>
    private static async Task<string> Guess(string player, int number)
    {
        if (!players.Contains(player))
        {
            try
            {
                await Say("POST", "/players", JsonValue.Object().Set("player_session_id", JsonValue.Of(player)).ToString());
            }
            catch (HttpRequestException)
            {
                return "you are not in this game"; // nobody expects this player
            }
            players.Add(player);
        }
        lastGuess = DateTime.UtcNow;
        if (number == secret) winner = winner ?? player;
        if (winner == null) return number < secret ? "higher" : "lower";
        await Say("DELETE", "/players/" + player); // the game is over for this player
        return player == winner ? "you won" : "you lost, it was " + secret;
    }
}
