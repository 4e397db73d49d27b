using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Security.Cryptography;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Muster
{
    /// <summary>How MeasureLatencyAsync measures. Zeros mean the defaults.</summary>
    public sealed class LatencyOptions
    {
        /// <summary>Measures by HTTP only, as browsers must.</summary>
        public bool HttpOnly;

        /// <summary>Has beacons sign what they measure, for matchmakers that require receipts.</summary>
        public bool Receipts;

        /// <summary>Measurements of a location; the first does not count; default 6.</summary>
        public int Samples;

        /// <summary>The time between two datagrams; beacons answer 10 a second; default 350 ms.</summary>
        public TimeSpan Interval;

        /// <summary>The time in which all must be done; default 4 s.</summary>
        public TimeSpan Deadline;
    }

    public sealed partial class MusterClient
    {
        private const int Parallel = 4; // locations at a time

        /// <summary>
        /// Measures the round trip to each location in milliseconds, by datagrams where the location
        /// and the platform have them, else by HTTP. Locations that were not reached are left out.
        /// </summary>
        public async Task<List<LatencySample>> MeasureLatencyAsync(LatencyOptions options = null, CancellationToken cancel = default(CancellationToken))
        {
            options = options ?? new LatencyOptions();
            var locations = (await Api.LocationsAsync(cancel).ConfigureAwait(false)).Items;
            var found = new List<LatencySample>();
            using (var limit = CancellationTokenSource.CreateLinkedTokenSource(cancel))
            using (var slots = new SemaphoreSlim(Parallel, Parallel))
            {
                limit.CancelAfter(options.Deadline > TimeSpan.Zero ? options.Deadline : TimeSpan.FromSeconds(4));
                var all = new List<Task>();
                foreach (var location in locations) all.Add(MeasureOneAsync(location, options, slots, found, limit.Token));
                await Task.WhenAll(all).ConfigureAwait(false);
            }
            cancel.ThrowIfCancellationRequested();
            return found;
        }

        /// <summary>Measures, and reports what was measured: it applies for 15 minutes.</summary>
        public async Task<LatencyResult> ReportLatencyAsync(LatencyOptions options = null, CancellationToken cancel = default(CancellationToken))
        {
            var samples = await MeasureLatencyAsync(options, cancel).ConfigureAwait(false);
            return await Api.ReportLatencyAsync(new LatencyReport { Samples = samples }, cancel).ConfigureAwait(false);
        }

        private async Task MeasureOneAsync(Location location, LatencyOptions options, SemaphoreSlim slots, List<LatencySample> found, CancellationToken cancel)
        {
            try
            {
                await slots.WaitAsync(cancel).ConfigureAwait(false);
            }
            catch (OperationCanceledException)
            {
                return;
            }
            try
            {
                var samples = options.Samples > 1 ? options.Samples : 6;
                LatencySample sample = null;
                if (!options.HttpOnly && !string.IsNullOrEmpty(location.Udp))
                    sample = await Beacon.UdpAsync(location.Udp, samples, options.Interval > TimeSpan.Zero ? options.Interval : TimeSpan.FromMilliseconds(350), options.Receipts, cancel).ConfigureAwait(false);
                if (sample == null && !string.IsNullOrEmpty(location.Https))
                    sample = await Beacon.HttpAsync(caller.Http, location.Https, samples, options.Receipts, cancel).ConfigureAwait(false);
                if (sample == null) return;
                sample.Location = location.Name;
                lock (found) found.Add(sample);
            }
            finally
            {
                slots.Release();
            }
        }
    }

    // Beacon measures the way to one beacon. Its methods return null if that fails.
    internal static class Beacon
    {
        private const int Tag = 8;                      // bytes, so that answers to somebody else do not count
        private const int AskSize = 64, MaxSize = 300;  // of datagrams: a beacon never answers with more than it was sent
        private static readonly TimeSpan lastAnswer = TimeSpan.FromSeconds(1);

        internal static async Task<LatencySample> UdpAsync(string at, int samples, TimeSpan interval, bool receipt, CancellationToken cancel)
        {
            var sample = await MeasureAsync(at, samples, interval, cancel).ConfigureAwait(false);
            if (sample != null && receipt) sample.Receipt = await ReceiptAsync(at, cancel).ConfigureAwait(false);
            return sample;
        }

        private static UdpClient Open(string at)
        {
            var colon = at.LastIndexOf(':');
            var udp = new UdpClient(at.StartsWith("[", StringComparison.Ordinal) ? AddressFamily.InterNetworkV6 : AddressFamily.InterNetwork);
            try
            {
                udp.Connect(at.Substring(0, colon).Trim('[', ']'), int.Parse(at.Substring(colon + 1), CultureInfo.InvariantCulture));
            }
            catch
            {
                udp.Close();
                throw;
            }
            return udp;
        }

        private static bool Failed(Exception e)
        {
            return e is SocketException || e is ObjectDisposedException || e is OperationCanceledException || e is FormatException || e is ArgumentException;
        }

        private static async Task<LatencySample> MeasureAsync(string at, int samples, TimeSpan interval, CancellationToken cancel)
        {
            try
            {
                using (var udp = Open(at))
                using (cancel.Register(udp.Close))
                {
                    var datagram = new byte[Tag + 1];
                    using (var random = RandomNumberGenerator.Create()) random.GetBytes(datagram);
                    var clock = Stopwatch.StartNew();
                    var sent = new double[samples];
                    var trips = new List<double>();
                    var hearing = HearAsync(udp, datagram, sent, trips, clock);
                    for (var i = 0; i < samples; i++)
                    {
                        datagram[Tag] = (byte)i;
                        lock (sent) sent[i] = clock.Elapsed.TotalMilliseconds;
                        await udp.SendAsync(datagram, datagram.Length).ConfigureAwait(false);
                        if (i < samples - 1) await Task.Delay(interval, cancel).ConfigureAwait(false);
                    }
                    await Task.WhenAny(hearing, Task.Delay(lastAnswer, cancel)).ConfigureAwait(false);
                    lock (sent) return trips.Count * 2 <= samples - 1 ? null : Sample(trips, LatencySampleMethod.Udp);
                }
            }
            catch (Exception e) when (Failed(e))
            {
                return null;
            }
        }

        // ReceiptAsync has the beacon measure and sign; null if it does not. It asks for the time,
        // which the beacon signs, and then, with that, for the receipt.
        private static async Task<string> ReceiptAsync(string at, CancellationToken cancel)
        {
            try
            {
                using (var udp = Open(at))
                using (cancel.Register(udp.Close))
                {
                    var nonce = new byte[Tag];
                    using (var random = RandomNumberGenerator.Create()) random.GetBytes(nonce);
                    var time = await ExchangeAsync(udp, "GLB1", nonce, AskSize, "GLB2", nonce).ConfigureAwait(false);
                    var answer = time == null ? null : await ExchangeAsync(udp, "GLB3", time, MaxSize, "GLB4", nonce).ConfigureAwait(false);
                    return answer == null ? null : Encoding.UTF8.GetString(answer, Tag, answer.Length - Tag);
                }
            }
            catch (Exception e) when (Failed(e))
            {
                return null;
            }
        }

        // ExchangeAsync sends a datagram, and returns what follows the kind of the answer, which
        // begins with the nonce; null if none comes.
        private static async Task<byte[]> ExchangeAsync(UdpClient udp, string kind, byte[] body, int size, string wanted, byte[] nonce)
        {
            var datagram = new byte[size];
            Encoding.ASCII.GetBytes(kind).CopyTo(datagram, 0);
            body.CopyTo(datagram, kind.Length);
            await udp.SendAsync(datagram, size).ConfigureAwait(false);
            var late = Task.Delay(lastAnswer);
            for (;;)
            {
                var hearing = udp.ReceiveAsync();
                if (await Task.WhenAny(hearing, late).ConfigureAwait(false) == late) return null;
                var answer = (await hearing.ConfigureAwait(false)).Buffer;
                if (answer.Length <= wanted.Length + Tag || Encoding.ASCII.GetString(answer, 0, wanted.Length) != wanted) continue;
                var rest = new byte[answer.Length - wanted.Length];
                Array.Copy(answer, wanted.Length, rest, 0, rest.Length);
                if (Same(rest, nonce)) return rest;
            }
        }

        // HearAsync records the round trips, except the first, which only opens the way.
        private static async Task HearAsync(UdpClient udp, byte[] tag, double[] sent, List<double> trips, Stopwatch clock)
        {
            var heard = new bool[sent.Length];
            try
            {
                for (var left = sent.Length; left > 0;)
                {
                    var answer = (await udp.ReceiveAsync().ConfigureAwait(false)).Buffer;
                    var now = clock.Elapsed.TotalMilliseconds;
                    if (answer.Length != Tag + 1 || answer[Tag] >= sent.Length || heard[answer[Tag]] || !Same(answer, tag)) continue;
                    left--;
                    heard[answer[Tag]] = true;
                    lock (sent)
                    {
                        if (answer[Tag] > 0) trips.Add(now - sent[answer[Tag]]);
                    }
                }
            }
            catch (Exception e) when (e is SocketException || e is ObjectDisposedException)
            {
            }
        }

        private static bool Same(byte[] answer, byte[] tag)
        {
            for (var i = 0; i < Tag; i++)
                if (answer[i] != tag[i]) return false;
            return true;
        }

        internal static async Task<LatencySample> HttpAsync(IHttpTransport http, string url, int samples, bool receipt, CancellationToken cancel)
        {
            var trips = new List<double>();
            LatencySample sample = null;
            try
            {
                for (var i = 0; i < Math.Min(samples, 4); i++)
                {
                    var clock = Stopwatch.StartNew();
                    var reply = await http.SendAsync(new HttpCall { Method = "GET", Url = url }, cancel).ConfigureAwait(false);
                    if (reply.Status >= 300) return null;
                    if (i > 0) trips.Add(clock.Elapsed.TotalMilliseconds); // the first one opens the connection
                }
                sample = Sample(trips, LatencySampleMethod.Https);
                if (receipt) sample.Receipt = await ReceiptAsync(http, url, cancel).ConfigureAwait(false);
                return sample;
            }
            catch (Exception e) when (e is NetworkException || e is OperationCanceledException)
            {
                return sample; // null, or without a receipt
            }
        }

        // ReceiptAsync has the beacon measure and sign; null if it does not.
        private static async Task<string> ReceiptAsync(IHttpTransport http, string url, CancellationToken cancel)
        {
            var bytes = new byte[Tag];
            using (var random = RandomNumberGenerator.Create()) random.GetBytes(bytes);
            var ask = url + (url.IndexOf('?') < 0 ? "?" : "&") + "nonce=" + BitConverter.ToString(bytes).Replace("-", "").ToLowerInvariant();
            var stamp = await http.SendAsync(new HttpCall { Method = "GET", Url = ask }, cancel).ConfigureAwait(false);
            if (stamp.Status != 200 || stamp.Body == "") return null;
            var receipt = await http.SendAsync(new HttpCall { Method = "GET", Url = ask + "&stamp=" + Uri.EscapeDataString(stamp.Body) }, cancel).ConfigureAwait(false);
            return receipt.Status == 200 && receipt.Body != "" ? receipt.Body : null;
        }

        private static LatencySample Sample(List<double> trips, LatencySampleMethod method)
        {
            trips.Sort();
            return new LatencySample { RttMs = trips[trips.Count / 2], Method = method };
        }
    }
}
