// Measures with receipts, reports what was measured, and prints both. Arguments: the server's
// URL, and udp or https.
using System;
using System.Threading.Tasks;

namespace Muster.Tests
{
    internal static class Receipts
    {
        private static void Main(string[] args)
        {
            MeasureAsync(args[0], args[1] == "https").GetAwaiter().GetResult();
        }

        private static async Task MeasureAsync(string url, bool httpOnly)
        {
            using (var client = new MusterClient(url))
            {
                await client.LoginGuestAsync();
                var options = new LatencyOptions { HttpOnly = httpOnly, Receipts = true, Samples = 3, Interval = TimeSpan.FromMilliseconds(120) };
                var report = new LatencyReport { Samples = await client.MeasureLatencyAsync(options) };
                var result = await client.Api.ReportLatencyAsync(report);
                Console.WriteLine("{\"samples\": " + report.ToJson()["samples"] + ", \"result\": " + result.ToJson() + "}");
            }
        }
    }
}
