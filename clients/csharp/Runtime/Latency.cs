using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Security.Cryptography;
using System.Threading;
using System.Threading.Tasks;

namespace Muster
{
    /// <summary>How MeasureLatencyAsync measures. Zeros mean the defaults.</summary>
    public sealed class LatencyOptions
    {
        /// <summary>Measures by HTTP only, as browsers must.</summary>
        public bool HttpOnly;

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
                    sample = await Beacon.UdpAsync(location.Udp, samples, options.Interval > TimeSpan.Zero ? options.Interval : TimeSpan.FromMilliseconds(350), cancel).ConfigureAwait(false);
                if (sample == null && !string.IsNullOrEmpty(location.Https))
                    sample = await Beacon.HttpAsync(caller.Http, location.Https, samples, cancel).ConfigureAwait(false);
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
        private const int Tag = 8; // bytes, so that answers to somebody else do not count

        internal static async Task<LatencySample> UdpAsync(string at, int samples, TimeSpan interval, CancellationToken cancel)
        {
            try
            {
                var colon = at.LastIndexOf(':');
                using (var udp = new UdpClient(at.StartsWith("[", StringComparison.Ordinal) ? AddressFamily.InterNetworkV6 : AddressFamily.InterNetwork))
                using (cancel.Register(udp.Close))
                {
                    udp.Connect(at.Substring(0, colon).Trim('[', ']'), int.Parse(at.Substring(colon + 1), CultureInfo.InvariantCulture));
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
                    await Task.WhenAny(hearing, Task.Delay(TimeSpan.FromSeconds(1), cancel)).ConfigureAwait(false);
                    lock (sent) return trips.Count * 2 <= samples - 1 ? null : Sample(trips, LatencySampleMethod.Udp);
                }
            }
            catch (Exception e) when (e is SocketException || e is ObjectDisposedException || e is OperationCanceledException || e is FormatException || e is ArgumentException)
            {
                return null;
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

        internal static async Task<LatencySample> HttpAsync(IHttpTransport http, string url, int samples, CancellationToken cancel)
        {
            var trips = new List<double>();
            try
            {
                for (var i = 0; i < Math.Min(samples, 4); i++)
                {
                    var clock = Stopwatch.StartNew();
                    var reply = await http.SendAsync(new HttpCall { Method = "GET", Url = url }, cancel).ConfigureAwait(false);
                    if (reply.Status >= 300) return null;
                    if (i > 0) trips.Add(clock.Elapsed.TotalMilliseconds); // the first one opens the connection
                }
                var sample = Sample(trips, LatencySampleMethod.Https);
                sample.Receipt = await ReceiptAsync(http, url, cancel).ConfigureAwait(false);
                return sample;
            }
            catch (Exception e) when (e is NetworkException || e is OperationCanceledException)
            {
                return null;
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
