using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Muster.Tests
{
    // Tests of what the stories cannot reach: JSON, retries, and the token stores. Each public
    // method of Cases is a test.
    internal static class Program
    {
        private static int Main()
        {
            var failed = 0;
            foreach (var test in typeof(Cases).GetMethods(BindingFlags.Static | BindingFlags.Public | BindingFlags.DeclaredOnly))
            {
                try
                {
                    var task = test.Invoke(null, null) as Task;
                    if (task != null) task.GetAwaiter().GetResult();
                    Console.WriteLine("ok - " + test.Name);
                }
                catch (Exception e)
                {
                    failed++;
                    Console.WriteLine("not ok - " + test.Name + ": " + (e.InnerException ?? e));
                }
            }
            return failed == 0 ? 0 : 1;
        }
    }

    // Answers is a server whose answers a test says.
    internal sealed class Answers : IHttpTransport
    {
        internal readonly List<HttpCall> Calls = new List<HttpCall>();
        internal Func<HttpCall, int, Task<HttpReply>> Answer; // gets the number of the call

        public Task<HttpReply> SendAsync(HttpCall call, CancellationToken cancel)
        {
            lock (Calls) Calls.Add(call);
            return Answer(call, Calls.Count);
        }

        internal static HttpReply Json(int status, string body) { return new HttpReply { Status = status, Body = body }; }

        internal static HttpReply Login(int number)
        {
            return Json(200, "{\"player_id\":\"p\",\"scope\":\"guest\",\"access_token\":\"access" + number + "\",\"access_token_expires_in\":900,\"refresh_token\":\"refresh" + number +
                "\",\"refresh_token_expires_in\":9000,\"created\":true,\"identities\":[],\"guest_secret\":\"hidden\"}");
        }
    }

    internal static class Cases
    {
        private static void Check(bool holds, string what)
        {
            if (!holds) throw new Exception(what);
        }

        private static T Fails<T>(Func<Task> act) where T : Exception
        {
            try
            {
                act().GetAwaiter().GetResult();
            }
            catch (T e)
            {
                return e;
            }
            throw new Exception("no " + typeof(T).Name);
        }

        public static void JsonIsReadAsItWasWritten()
        {
            var random = new Random(1);
            for (var i = 0; i < 5000; i++)
            {
                var json = Any(random, 0).ToString();
                Check(JsonValue.Parse(json).ToString() == json, json);
            }
        }

        private static JsonValue Any(Random random, int depth)
        {
            switch (random.Next(depth > 4 ? 5 : 7))
            {
                case 0: return JsonValue.Null;
                case 1: return JsonValue.Of(random.Next(2) == 0);
                case 2: return JsonValue.Of((long)random.Next() * random.Next(-5, 5));
                case 3: return JsonValue.Of(random.NextDouble() * Math.Pow(10, random.Next(-20, 20)));
                case 4: return JsonValue.Of(Text(random));
                case 5: return JsonValue.Of(Enumerable.Range(0, random.Next(4)), _ => Any(random, depth + 1));
            }
            var json = JsonValue.Object();
            for (var n = random.Next(4); n > 0; n--) json.Set(Text(random), Any(random, depth + 1));
            return json;
        }

        private static string Text(Random random)
        {
            var b = new StringBuilder();
            for (var n = random.Next(10); n > 0; n--) b.Append((char)random.Next(random.Next(3) == 0 ? 0x10000 : 0x80));
            return b.ToString();
        }

        public static void DamagedJsonIsAFormatException()
        {
            var random = new Random(2);
            const string good = "{\"a\":[1,-2.5e3,true,null,\"\\u00e9\\n\"],\"b\":{\"c\":\"d\"}}";
            for (var i = 0; i < 20000; i++)
            {
                var b = new StringBuilder(good);
                for (var n = random.Next(1, 4); n > 0; n--)
                {
                    var at = random.Next(b.Length);
                    if (random.Next(2) == 0) b.Remove(at, 1);
                    else b[at] = (char)random.Next(0x80);
                }
                try
                {
                    JsonValue.Parse(b.ToString());
                }
                catch (FormatException)
                {
                }
            }
            Fails<FormatException>(() => { JsonValue.Parse(new string('[', 100000)); return null; });
            foreach (var bad in new[] { "", "01", "1.", "-", "+1", "1 2", "{,}", "[1,]", "\"\t\"", "nul", "\"\\x\"", "{\"a\" 1}" })
                Fails<FormatException>(() => { JsonValue.Parse(bad); return null; });
        }

        public static void TimesMayHaveNanoseconds()
        {
            var want = new DateTime(2030, 1, 2, 3, 4, 5, DateTimeKind.Utc).AddTicks(1234567);
            foreach (var text in new[] { "2030-01-02T03:04:05.123456789Z", "2030-01-02T04:04:05.1234567+01:00" })
                Check(JsonValue.Of(text).Time() == want, text);
            Check(JsonValue.Parse(JsonValue.Of(want).ToString()).Time() == want, "written and read");
        }

        public static void UnknownChoicesAreUnknown()
        {
            Check(Ticket.FromJson(JsonValue.Parse("{\"state\":\"of a newer server\"}")).State == TicketState.Unknown, "state");
        }

        private static MusterClient Client(Answers answers, List<TimeSpan> pauses = null, ITokenStore store = null, Func<DateTime> now = null)
        {
            return new MusterClient("http://server.test/", new MusterOptions
            {
                Http = answers, WithoutPush = true, Tokens = store, Now = now,
                Wait = (time, cancel) =>
                {
                    if (pauses != null) pauses.Add(time);
                    return Task.FromResult(true);
                },
            });
        }

        public static async Task ManyCallsRenewOnce()
        {
            var now = new DateTime(2030, 1, 1, 0, 0, 0, DateTimeKind.Utc);
            var logins = 0;
            var slow = new TaskCompletionSource<bool>();
            var answers = new Answers();
            answers.Answer = async (call, n) =>
            {
                if (call.Url.EndsWith("/auth/guest")) return Answers.Login(++logins);
                if (call.Url.EndsWith("/auth/refresh"))
                {
                    await slow.Task;
                    return Answers.Login(++logins);
                }
                return Answers.Json(call.Headers["Authorization"] == "Bearer access" + logins ? 200 : 401, "{\"player_id\":\"p\"}");
            };
            var client = Client(answers, now: () => now);
            await client.LoginGuestAsync();
            now = now.AddMinutes(14); // after four fifths of the token's life
            var calls = Enumerable.Range(0, 20).Select(_ => client.Api.MeAsync()).ToArray();
            slow.SetResult(true);
            await Task.WhenAll(calls);
            Check(logins == 2, logins + " logins");
        }

        public static void WhatCannotBeDoneTwiceIsNotRepeated()
        {
            var answers = new Answers();
            answers.Answer = (call, n) =>
            {
                if (call.Url.EndsWith("/auth/guest")) return Task.FromResult(Answers.Login(1));
                throw new NetworkException("lost");
            };
            var client = Client(answers);
            client.LoginGuestAsync().GetAwaiter().GetResult();
            Fails<NetworkException>(() => client.Api.StartMatchmakingAsync(new TicketRequest { Matchmaker = "m" }));
            Check(answers.Calls.Count == 2, "a POST was made " + (answers.Calls.Count - 1) + " times");
            Fails<NetworkException>(() => client.Api.MeAsync());
            Check(answers.Calls.Count == 6, "a GET was made " + (answers.Calls.Count - 2) + " times");
        }

        public static void RetryAfterIsWaitedFor()
        {
            var answers = new Answers();
            answers.Answer = (call, n) =>
            {
                if (call.Url.EndsWith("/auth/guest")) return Task.FromResult(Answers.Login(1));
                var reply = Answers.Json(n < 4 ? 429 : 200, n < 4 ? "{\"code\":\"rate-limited\",\"status\":429}" : "{\"player_id\":\"p\"}");
                if (n < 4) reply.Headers["Retry-After"] = "7";
                return Task.FromResult(reply);
            };
            var pauses = new List<TimeSpan>();
            var client = Client(answers, pauses);
            client.LoginGuestAsync().GetAwaiter().GetResult();
            Check(client.Api.MeAsync().GetAwaiter().GetResult().PlayerId == "p", "player");
            Check(pauses.Count == 2 && pauses.All(p => p >= TimeSpan.FromSeconds(7) && p < TimeSpan.FromSeconds(8)), string.Join(", ", pauses));
            answers.Answer = (call, n) =>
            {
                var reply = Answers.Json(429, "{\"code\":\"rate-limited\",\"status\":429}");
                reply.Headers["Retry-After"] = "3600";
                return Task.FromResult(reply);
            };
            Check(Fails<ProblemException>(() => client.Api.MeAsync()).RetryAfter == TimeSpan.FromHours(1) && pauses.Count == 2, "an hour is not waited for");
        }

        public static void ErrorsHaveNoSecrets()
        {
            var answers = new Answers();
            answers.Answer = (call, n) => Task.FromResult(n == 1 ? Answers.Login(1) : Answers.Json(500, "<html>hidden access1 refresh1</html>"));
            var client = Client(answers);
            client.LoginGuestAsync().GetAwaiter().GetResult();
            var error = Fails<ProblemException>(() => client.Api.MeAsync()).ToString();
            Check(!error.Contains("access1") && !error.Contains("hidden"), error);
            Check(answers.Calls.All(c => !c.Url.Contains("access1") && !c.Url.Contains("refresh1")), "a URL has a secret");
        }

        public static void FileStoreReplacesTheFile()
        {
            var path = Path.Combine(Path.GetTempPath(), "muster-" + Guid.NewGuid());
            try
            {
                var store = new FileTokenStore(path);
                Check(store.LoadAsync().Result == null, "a store without a file has a login");
                foreach (var text in new[] { "{}", "{\"player_id\":\"p\"}" })
                {
                    store.SaveAsync(text).Wait();
                    Check(new FileTokenStore(path).LoadAsync().Result == text && !File.Exists(path + ".new"), text);
                }
            }
            finally
            {
                File.Delete(path);
            }
        }

        public static void DamagedStoreIsAnError()
        {
            var store = new MemoryTokenStore();
            store.SaveAsync("{half").Wait();
            var answers = new Answers { Answer = (call, n) => Task.FromResult(Answers.Login(1)) };
            Fails<MusterException>(() => Client(answers, store: store).LoginGuestAsync());
            Check(answers.Calls.Count == 0, "a damaged login was replaced by a new account");
        }

        public static void PathsAreEscaped()
        {
            Check(ApiRequest.Escape("a/b?c#d e") == "a%2Fb%3Fc%23d%20e", ApiRequest.Escape("a/b?c#d e"));
            foreach (var elsewhere in new[] { "", ".", ".." })
                Fails<ArgumentException>(() => { ApiRequest.Escape(elsewhere); return null; });
        }
    }
}
