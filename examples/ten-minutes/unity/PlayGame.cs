// On an object in the scene of the players: finds a game, and plays it.
using Muster;
using UnityEngine;

public sealed class PlayGame : MonoBehaviour
{
    public string Url = "http://127.0.0.1:9080";

    private Player player;
    private string news = "looking for somebody to play with ...";
    private string number = "";
    private bool playing;

    private async void Start()
    {
        player = new Player(Url, new MusterOptions { Http = new UnityWebRequestTransport() });
        await player.Find();
        news = "guess a number from 1 to 100";
        playing = true;
    }

    private void OnGUI()
    {
        GUILayout.Label(news);
        if (!playing) return;
        number = GUILayout.TextField(number);
        if (GUILayout.Button("Guess")) Guess();
    }

    private async void Guess()
    {
        var guess = number;
        var answer = await player.Guess(guess);
        news = guess + ": " + answer;
        playing = !answer.StartsWith("you ");
    }

    private void OnDestroy() { player.Dispose(); }
}
