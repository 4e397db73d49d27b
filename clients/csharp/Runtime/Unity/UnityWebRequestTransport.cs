#if UNITY_5_3_OR_NEWER
using System.Collections.Generic;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using UnityEngine.Networking;

namespace Muster
{
    /// <summary>
    /// Makes requests with UnityWebRequest, which works on all platforms of Unity. Use it from the
    /// main thread: create the MusterClient there.
    /// </summary>
    public sealed class UnityWebRequestTransport : IHttpTransport
    {
        private const int TimeoutSeconds = 40;
        private readonly SynchronizationContext main = SynchronizationContext.Current;

        /// <summary>Implements IHttpTransport.</summary>
        public Task<HttpReply> SendAsync(HttpCall call, CancellationToken cancel)
        {
            var done = new TaskCompletionSource<HttpReply>();
            if (main == null || SynchronizationContext.Current == main) Begin(call, cancel, done);
            else main.Post(_ => Begin(call, cancel, done), null);
            return done.Task;
        }

        private void Begin(HttpCall call, CancellationToken cancel, TaskCompletionSource<HttpReply> done)
        {
            if (cancel.IsCancellationRequested)
            {
                done.TrySetCanceled();
                return;
            }
            var request = new UnityWebRequest(call.Url, call.Method) { downloadHandler = new DownloadHandlerBuffer(), timeout = TimeoutSeconds };
            if (call.Body != null)
            {
                request.uploadHandler = new UploadHandlerRaw(Encoding.UTF8.GetBytes(call.Body));
                request.SetRequestHeader("Content-Type", "application/json");
            }
            foreach (KeyValuePair<string, string> header in call.Headers) request.SetRequestHeader(header.Key, header.Value);
            var over = false;
            var registered = cancel.Register(() =>
            {
                done.TrySetCanceled();
                if (main == null) return;
                main.Post(_ =>
                {
                    if (!over) request.Abort();
                }, null);
            });
            request.SendWebRequest().completed += _ =>
            {
                over = true;
                registered.Dispose();
                if (request.responseCode > 0) done.TrySetResult(Reply(request));
                else done.TrySetException(new NetworkException("the server was not reached: " + request.error));
                request.Dispose();
            };
        }

        private static HttpReply Reply(UnityWebRequest request)
        {
            var reply = new HttpReply { Status = (int)request.responseCode, Body = request.downloadHandler.text ?? "" };
            var headers = request.GetResponseHeaders();
            if (headers != null)
                foreach (var header in headers) reply.Headers[header.Key] = header.Value;
            return reply;
        }
    }
}
#endif
