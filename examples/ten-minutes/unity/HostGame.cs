// On an object in the scene of the dedicated server: hosts one game, and ends.
using UnityEngine;

public sealed class HostGame : MonoBehaviour
{
    private async void Start()
    {
        await Server.Run();
        Application.Quit();
    }
}
