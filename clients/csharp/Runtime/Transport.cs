using System;
using System.Collections.Generic;
using System.IO;
using System.Net.Http;
using System.Net.WebSockets;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Muster
{
    /// <summary>A request by HTTP.</summary>
    public sealed class HttpCall
    {
        /// <summary>GET, POST, PUT, PATCH or DELETE.</summary>
        public string Method;

        /// <summary>The whole URL.</summary>
        public string Url;

        /// <summary>The headers.</summary>
        public Dictionary<string, string> Headers = new Dictionary<string, string>();

        /// <summary>The body, JSON; null for none.</summary>
        public string Body;
    }

    /// <summary>An answer by HTTP.</summary>
    public sealed class HttpReply
    {
        /// <summary>The status.</summary>
        public int Status;

        /// <summary>The headers, whose names do not depend on case.</summary>
        public Dictionary<string, string> Headers = new Dictionary<string, string>(StringComparer.OrdinalIgnoreCase);

        /// <summary>The body; "" for none.</summary>
        public string Body = "";
    }

    /// <summary>
    /// Makes requests by HTTP. Unity's players on consoles and in browsers need
    /// UnityWebRequestTransport; HttpClientTransport is for all others.
    /// </summary>
    public interface IHttpTransport
    {
        /// <summary>
        /// Makes a request. An answer of any status is returned; it throws
        /// OperationCanceledException if cancel is cancelled, and else NetworkException.
        /// </summary>
        Task<HttpReply> SendAsync(HttpCall call, CancellationToken cancel);
    }

    /// <summary>Opens WebSockets, for the push.</summary>
    public interface ISocketTransport
    {
        /// <summary>Opens a WebSocket. It throws NetworkException if it cannot.</summary>
        Task<ISocket> ConnectAsync(string url, string subprotocol, CancellationToken cancel);
    }

    /// <summary>A WebSocket with text messages. Sends are not concurrent, nor are receives.</summary>
    public interface ISocket : IDisposable
    {
        /// <summary>Sends a message.</summary>
        Task SendAsync(string text, CancellationToken cancel);

        /// <summary>Returns the next message; null if the server has closed the WebSocket.</summary>
        Task<string> ReceiveAsync(CancellationToken cancel);

        /// <summary>The code with which the server closed the WebSocket; 0 if it did not.</summary>
        int CloseCode { get; }
    }

    /// <summary>Makes requests with HttpClient.</summary>
    public sealed class HttpClientTransport : IHttpTransport
    {
        private readonly HttpClient client;

        /// <summary>The time within which an answer must come.</summary>
        public static readonly TimeSpan Timeout = TimeSpan.FromSeconds(40);

        /// <summary>Makes requests with client, or a new HttpClient.</summary>
        public HttpClientTransport(HttpClient client = null)
        {
            this.client = client ?? new HttpClient { Timeout = Timeout };
        }

        /// <summary>Implements IHttpTransport.</summary>
        public async Task<HttpReply> SendAsync(HttpCall call, CancellationToken cancel)
        {
            using (var request = new HttpRequestMessage(new HttpMethod(call.Method), call.Url))
            {
                if (call.Body != null) request.Content = new StringContent(call.Body, Encoding.UTF8, "application/json");
                foreach (var header in call.Headers) request.Headers.TryAddWithoutValidation(header.Key, header.Value);
                try
                {
                    using (var response = await client.SendAsync(request, cancel).ConfigureAwait(false))
                    {
                        var reply = new HttpReply { Status = (int)response.StatusCode };
                        foreach (var header in response.Headers) reply.Headers[header.Key] = string.Join(",", header.Value);
                        if (response.Content != null) reply.Body = await response.Content.ReadAsStringAsync().ConfigureAwait(false);
                        return reply;
                    }
                }
                catch (OperationCanceledException)
                {
                    cancel.ThrowIfCancellationRequested();
                    throw new AnswerTimeoutException("no answer came within " + client.Timeout.TotalSeconds + " s");
                }
                catch (Exception e) when (e is HttpRequestException || e is IOException || e is ObjectDisposedException || e is System.Net.WebException)
                {
                    cancel.ThrowIfCancellationRequested();
                    throw new NetworkException("the server was not reached: " + Innermost(e).Message, e);
                }
            }
        }

        internal static Exception Innermost(Exception e)
        {
            while (e.InnerException != null) e = e.InnerException;
            return e;
        }
    }

    /// <summary>Opens WebSockets with ClientWebSocket.</summary>
    public sealed class ClientSocketTransport : ISocketTransport
    {
        /// <summary>Implements ISocketTransport.</summary>
        public async Task<ISocket> ConnectAsync(string url, string subprotocol, CancellationToken cancel)
        {
            var socket = new ClientWebSocket();
            socket.Options.AddSubProtocol(subprotocol);
            try
            {
                await socket.ConnectAsync(new Uri(url), cancel).ConfigureAwait(false);
            }
            catch (Exception e) when (!(e is OperationCanceledException && cancel.IsCancellationRequested))
            {
                socket.Dispose();
                throw new NetworkException("the WebSocket was not opened: " + HttpClientTransport.Innermost(e).Message, e);
            }
            return new Socket(socket);
        }

        private sealed class Socket : ISocket
        {
            private const int MostBytes = 1 << 20;
            private readonly ClientWebSocket socket;
            private readonly byte[] buffer = new byte[16 << 10];

            internal Socket(ClientWebSocket socket) { this.socket = socket; }

            public int CloseCode { get; private set; }

            public async Task SendAsync(string text, CancellationToken cancel)
            {
                try
                {
                    await socket.SendAsync(new ArraySegment<byte>(Encoding.UTF8.GetBytes(text)), WebSocketMessageType.Text, true, cancel).ConfigureAwait(false);
                }
                catch (Exception e) when (!(e is OperationCanceledException))
                {
                    throw new NetworkException("the WebSocket is lost: " + HttpClientTransport.Innermost(e).Message, e);
                }
            }

            public async Task<string> ReceiveAsync(CancellationToken cancel)
            {
                using (var message = new MemoryStream())
                {
                    while (true)
                    {
                        WebSocketReceiveResult part;
                        try
                        {
                            part = await socket.ReceiveAsync(new ArraySegment<byte>(buffer), cancel).ConfigureAwait(false);
                        }
                        catch (Exception e) when (!(e is OperationCanceledException))
                        {
                            throw new NetworkException("the WebSocket is lost: " + HttpClientTransport.Innermost(e).Message, e);
                        }
                        if (part.MessageType == WebSocketMessageType.Close)
                        {
                            CloseCode = (int)(part.CloseStatus ?? WebSocketCloseStatus.Empty);
                            return null;
                        }
                        message.Write(buffer, 0, part.Count);
                        if (message.Length > MostBytes) throw new NetworkException("a message of the WebSocket is too long");
                        if (part.EndOfMessage) return Encoding.UTF8.GetString(message.ToArray());
                    }
                }
            }

            public void Dispose()
            {
                socket.Abort(); // the server needs no farewell, and must not hold this up
                socket.Dispose();
            }
        }
    }
}
