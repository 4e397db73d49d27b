// What the adapters and the scripts of docs/ten-minutes.md use of Unity, so that a compiler can
// check them where Unity is not installed. Nothing here works.
using System;
using System.Collections.Generic;

namespace UnityEngine
{
    public static class PlayerPrefs
    {
        public static string GetString(string key, string otherwise) { return otherwise; }
        public static void SetString(string key, string value) { }
        public static void Save() { }
    }

    public class MonoBehaviour { }

    public static class Application
    {
        public static void Quit() { }
    }

    public static class GUILayout
    {
        public static void Label(string text) { }
        public static string TextField(string text) { return text; }
        public static bool Button(string text) { return false; }
    }

    public class AsyncOperation
    {
        public event Action<AsyncOperation> completed;
        public void Complete() { completed(this); }
    }
}

namespace UnityEngine.Networking
{
    public class UploadHandler { }
    public class UploadHandlerRaw : UploadHandler { public UploadHandlerRaw(byte[] data) { } }
    public class DownloadHandler { public string text; }
    public class DownloadHandlerBuffer : DownloadHandler { }
    public class UnityWebRequestAsyncOperation : AsyncOperation { }

    public class UnityWebRequest : IDisposable
    {
        public DownloadHandler downloadHandler;
        public UploadHandler uploadHandler;
        public int timeout;
        public long responseCode;
        public string error;

        public UnityWebRequest(string url, string method) { }
        public void SetRequestHeader(string name, string value) { }
        public Dictionary<string, string> GetResponseHeaders() { return null; }
        public UnityWebRequestAsyncOperation SendWebRequest() { return new UnityWebRequestAsyncOperation(); }
        public void Abort() { }
        public void Dispose() { }
    }
}
