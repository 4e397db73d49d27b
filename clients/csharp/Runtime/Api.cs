using System;
using System.Collections.Generic;
using System.Globalization;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Muster
{
    /// <summary>Who may make a request.</summary>
    public enum ApiAccess
    {
        /// <summary>Anybody.</summary>
        Open,

        /// <summary>A player who is logged in.</summary>
        Player,
    }

    /// <summary>An answer of the player API.</summary>
    public sealed class ApiAnswer
    {
        /// <summary>The HTTP status; 304 if nothing changed.</summary>
        public int Status;

        /// <summary>The body; JsonValue.Null for none.</summary>
        public JsonValue Body = JsonValue.Null;

        /// <summary>The version of a value of the player's data, from the ETag; 0 if there is none.</summary>
        public long Version;
    }

    /// <summary>A request of the player API.</summary>
    public sealed class ApiRequest
    {
        internal readonly string Method;
        internal readonly ApiAccess Access;
        internal readonly bool Repeatable;
        internal readonly Dictionary<string, string> Headers = new Dictionary<string, string>();
        internal JsonValue Body;
        private readonly StringBuilder path;
        private bool queried;

        internal ApiRequest(string method, string path, ApiAccess access, bool repeatable)
        {
            Method = method;
            Access = access;
            Repeatable = repeatable;
            this.path = new StringBuilder(path);
        }

        internal string Path { get { return path.ToString(); } }

        internal void Query(string name, string value)
        {
            if (value == null) return;
            path.Append(queried ? '&' : '?').Append(name).Append('=').Append(Uri.EscapeDataString(value));
            queried = true;
        }

        internal void Header(string name, string value)
        {
            if (value != null) Headers[name] = value;
        }

        // Escape makes a text a segment of a path, or a value of a query.
        internal static string Escape(string text)
        {
            if (string.IsNullOrEmpty(text) || text == "." || text == "..") throw new ArgumentException("\"" + text + "\" cannot be part of a path");
            return Uri.EscapeDataString(text);
        }
    }

    public sealed partial class PlayerApi
    {
        private readonly Caller caller;

        internal PlayerApi(Caller caller) { this.caller = caller; }
    }

    // Caller makes requests, and repeats those that may be.
    internal sealed class Caller
    {
        // Tries is how often a request is made, and what of it may be repeated waits in between.
        private const int Tries = 4;
        private static readonly TimeSpan firstPause = TimeSpan.FromMilliseconds(250), longestPause = TimeSpan.FromSeconds(10), mostPatience = TimeSpan.FromSeconds(10);

        private readonly string server;
        internal readonly IHttpTransport Http;
        private readonly Pauses pauses;
        internal Account Account;

        internal Caller(string server, IHttpTransport http, Pauses pauses)
        {
            this.server = server;
            Http = http;
            this.pauses = pauses;
        }

        internal async Task<T> SendAsync<T>(ApiRequest request, Func<JsonValue, T> convert, CancellationToken cancel) where T : class
        {
            var answer = await SendAsync(request, cancel).ConfigureAwait(false);
            return answer.Body.IsNull ? null : convert(answer.Body);
        }

        // SendAsync makes a request, with the player's token if it needs one. A token that is
        // refused is renewed once.
        internal async Task<ApiAnswer> SendAsync(ApiRequest request, CancellationToken cancel)
        {
            if (request.Access == ApiAccess.Open) return await RepeatAsync(request, null, cancel).ConfigureAwait(false);
            var token = await Account.AccessAsync(null, cancel).ConfigureAwait(false);
            try
            {
                return await RepeatAsync(request, token, cancel).ConfigureAwait(false);
            }
            catch (ProblemException e) when (e.Code == "token-invalid" || e.Code == "token-expired")
            {
            }
            token = await Account.AccessAsync(token, cancel).ConfigureAwait(false);
            return await RepeatAsync(request, token, cancel).ConfigureAwait(false);
        }

        // RepeatAsync makes a request, and repeats one that reads or replaces: after lost answers,
        // and after refusals that end by themselves.
        internal async Task<ApiAnswer> RepeatAsync(ApiRequest request, string token, CancellationToken cancel)
        {
            for (var tries = 1; ; tries++)
            {
                TimeSpan pause;
                try
                {
                    return await OnceAsync(request, token, cancel).ConfigureAwait(false);
                }
                catch (ProblemException e) when (tries < Tries && MayRepeat(request, e))
                {
                    pause = e.RetryAfter ?? TimeSpan.Zero;
                    if (pause > mostPatience) throw;
                }
                catch (NetworkException) when (tries < Tries && request.Repeatable)
                {
                    pause = TimeSpan.Zero;
                }
                var backoff = pauses.Of(tries, firstPause, longestPause);
                await pauses.WaitAsync(pause > TimeSpan.Zero ? pause + backoff : backoff, cancel).ConfigureAwait(false);
            }
        }

        // MayRepeat reports whether a refused request may succeed soon.
        private static bool MayRepeat(ApiRequest request, ProblemException e)
        {
            switch (e.Status)
            {
                case 429: case 502: case 503: case 504: return request.Repeatable && e.Code != "locked-out" && e.Code != "no-capacity";
            }
            return false;
        }

        private async Task<ApiAnswer> OnceAsync(ApiRequest request, string token, CancellationToken cancel)
        {
            var call = new HttpCall { Method = request.Method, Url = server + request.Path };
            foreach (var header in request.Headers) call.Headers[header.Key] = header.Value;
            if (token != null) call.Headers["Authorization"] = "Bearer " + token;
            if (request.Body != null) call.Body = request.Body.ToString();
            var reply = await Http.SendAsync(call, cancel).ConfigureAwait(false);
            if (reply.Status >= 400) throw ProblemOf(reply);
            var answer = new ApiAnswer { Status = reply.Status, Version = VersionOf(reply) };
            if (reply.Status == 304 || string.IsNullOrEmpty(reply.Body)) return answer;
            try
            {
                answer.Body = JsonValue.Parse(reply.Body);
            }
            catch (FormatException e)
            {
                throw new NetworkException("the answer is not of the described form", e);
            }
            return answer;
        }

        private static ProblemException ProblemOf(HttpReply reply)
        {
            Problem problem = null;
            try
            {
                problem = Problem.FromJson(JsonValue.Parse(reply.Body));
            }
            catch (FormatException)
            {
            }
            if (problem == null || string.IsNullOrEmpty(problem.Code)) // a proxy answered
                problem = new Problem { Status = reply.Status, Code = "http-" + reply.Status.ToString(CultureInfo.InvariantCulture) };
            return new ProblemException(reply.Status, problem, RetryAfter(reply, problem));
        }

        private static TimeSpan? RetryAfter(HttpReply reply, Problem problem)
        {
            string text;
            double seconds;
            if (reply.Headers.TryGetValue("Retry-After", out text) && double.TryParse(text, NumberStyles.Float, CultureInfo.InvariantCulture, out seconds) && seconds >= 0 && seconds < 1e6)
                return TimeSpan.FromSeconds(seconds);
            return problem.RetryAfterSeconds == null ? (TimeSpan?)null : TimeSpan.FromSeconds(problem.RetryAfterSeconds.Value);
        }

        // VersionOf parses the ETag, which proxies that compress make weak.
        private static long VersionOf(HttpReply reply)
        {
            string tag;
            long version;
            if (!reply.Headers.TryGetValue("ETag", out tag)) return 0;
            if (tag.StartsWith("W/", StringComparison.Ordinal)) tag = tag.Substring(2);
            return long.TryParse(tag.Trim('"'), NumberStyles.None, CultureInfo.InvariantCulture, out version) ? version : 0;
        }
    }

    // Pauses are the times between attempts.
    internal sealed class Pauses
    {
        private readonly Random random = new Random();
        private readonly Func<TimeSpan, CancellationToken, Task> wait;

        internal Pauses(Func<TimeSpan, CancellationToken, Task> wait) { this.wait = wait; }

        // Of returns a random time up to a bound that doubles with each failure.
        internal TimeSpan Of(int failures, TimeSpan first, TimeSpan longest)
        {
            var bound = Math.Min(longest.TotalMilliseconds, first.TotalMilliseconds * Math.Pow(2, Math.Min(failures - 1, 20)));
            lock (random) return TimeSpan.FromMilliseconds(Math.Max(1, bound * random.NextDouble()));
        }

        internal Task WaitAsync(TimeSpan time, CancellationToken cancel) { return wait(time, cancel); }
    }
}
