/** How latency is measured. */
export interface MeasureOptions {
    /** Gives the measurement up. */
    readonly signal?: AbortSignal | undefined;
    /** Round trips for each location, besides the first, which does not count; default 5. */
    readonly samples?: number | undefined;
    /** Locations at a time; default 4. */
    readonly parallel?: number | undefined;
    /** Of one round trip, in milliseconds; default 1000. */
    readonly timeoutMs?: number | undefined;
    /** Of the whole measurement, in milliseconds; default 6000. */
    readonly deadlineMs?: number | undefined;
    /** Whether beacons are asked to sign what they measure; needed where the matchmaker requires it. */
    readonly receipts?: boolean | undefined;
    /** `udp` or `https`; default: the best that the location and the platform have. */
    readonly transport?: "udp" | "https" | undefined;
}
