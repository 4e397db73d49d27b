// Status glyphs: shape and color together, so that neither is needed alone.

export type Tone = "ok" | "busy" | "hold" | "warn" | "fail" | "idle";

/** The shapes, in a square of 12 by 12. */
export const shapes: Record<Tone, string> = {
  ok: "M6 1a5 5 0 1 0 0 10A5 5 0 1 0 6 1Z",
  busy: "M6 0a6 6 0 1 0 0 12A6 6 0 1 0 6 0ZM6 1.6v8.8a4.4 4.4 0 0 1 0-8.8Z",
  hold: "M6 0 12 6 6 12 0 6ZM6 2.5 9.5 6 6 9.5 2.5 6Z",
  warn: "M6 .6 12 11.4H0Z",
  fail: "M1 0h10a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1H1a1 1 0 0 1-1-1V1a1 1 0 0 1 1-1ZM3.6 2.5 2.5 3.6 4.9 6 2.5 8.4 3.6 9.5 6 7.1 8.4 9.5 9.5 8.4 7.1 6 9.5 3.6 8.4 2.5 6 4.9Z",
  idle: "M6 0a6 6 0 1 0 0 12A6 6 0 1 0 6 0ZM6 1.8a4.2 4.2 0 1 1 0 8.4 4.2 4.2 0 1 1 0-8.4Z",
};

/** A status glyph. */
export function Glyph({ tone, size = 12 }: { tone: Tone; size?: number }) {
  return (
    <svg class={`glyph f-${tone}`} width={size} height={size} viewBox="0 0 12 12" aria-hidden="true">
      <path d={shapes[tone]} fill-rule="evenodd" />
    </svg>
  );
}

const tones: Record<string, Tone> = {
  // fleets and locations
  ACTIVE: "ok", NEW: "busy", DOWNLOADING: "busy", VALIDATING: "busy", BUILDING: "busy", ACTIVATING: "busy", PENDING: "busy", CREATING: "busy", CREATED: "busy",
  UPDATING: "busy", DELETING: "warn", ERROR: "fail", TERMINATED: "idle", NOT_FOUND: "idle", TERMINATING: "warn", INITIALIZED: "busy",
  // players
  RESERVED: "hold", TIMEDOUT: "fail", COMPLETED: "idle",
  // placements and tickets
  FULFILLED: "ok", TIMED_OUT: "warn", FAILED: "fail", CANCELLED: "idle", QUEUED: "busy", SEARCHING: "busy", PLACING: "busy", REQUIRES_ACCEPTANCE: "hold",
  // other things
  READY: "ok", INITIALIZING: "busy", COMPLETE: "ok", IN_PROGRESS: "busy", ROLLBACK_IN_PROGRESS: "warn", ROLLBACK_COMPLETE: "warn", IMPAIRED: "fail",
};

/** Returns the tone of a status. */
export const toneOf = (status: string, kind = ""): Tone => (kind === "ticket" && status === "COMPLETED" ? "ok" : kind === "ticket" && status === "TIMED_OUT" ? "warn" : (tones[status] ?? "idle"));

/** A status: its glyph and its word. */
export function Status({ of, kind, children }: { of: string; kind?: string; children?: preact.ComponentChildren }) {
  return (
    <span class="st">
      <Glyph tone={toneOf(of, kind)} />
      {children ?? of}
    </span>
  );
}

/** A tone with text of one's own. */
export function Toned({ tone, children }: { tone: Tone; children: preact.ComponentChildren }) {
  return (
    <span class="st">
      <Glyph tone={tone} />
      <span>{children}</span>
    </span>
  );
}
