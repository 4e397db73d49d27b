import type { Placement, ProblemCode, Ticket } from "./api.js";

/** The base of the errors that this library throws, besides those of an AbortSignal. */
export class MusterError extends Error {
  override get name(): string {
    return this.constructor.name;
  }
}

/** The members of a problem that {@link ProblemError} does not name. */
export type Extensions = Readonly<Record<string, unknown>>;

/** The server refused a request (RFC 9457). */
export class ProblemError extends MusterError {
  override get name(): string {
    return "ProblemError";
  }
  /** The HTTP status. */
  readonly status: number;
  /** The kind of problem, for programs, such as `ticket-active`. */
  readonly code: ProblemCode | (string & {});
  /** The kind of problem in words. */
  readonly title: string;
  /** What is wrong with this request. */
  readonly detail: string;
  /** The request, as the server's log names it. */
  readonly instance: string;
  /** The member of the request that is wrong, as a JSON pointer such as `/matchmaker`. */
  readonly member: string | undefined;
  /** How long to wait before another attempt, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** Of `ticket-active`: the ticket that is in the way. */
  readonly ticketId: string | undefined;
  /** Of `banned`: when the ban ends. */
  readonly until: Date | undefined;
  /** Members of the problem that this class does not name. */
  readonly extensions: Extensions;
  /**
   * Of `identity-in-use`: lets the player merge the two accounts, once. It is a secret, and
   * not enumerable, so that it does not appear where the error is logged.
   */
  declare readonly conflictToken: string | undefined;

  /** @internal */
  constructor(status: number, problem: Record<string, unknown>, retryAfterMs?: number) {
    const text = (name: string): string => (typeof problem[name] === "string" ? problem[name] : "");
    const code = text("code") || `http-${status}`;
    const detail = text("detail");
    super(detail ? `${code}: ${detail}` : code);
    this.status = status;
    this.code = code;
    this.title = text("title");
    this.detail = detail;
    this.instance = text("instance");
    this.member = /^(\/[^\s:]*):/.exec(detail)?.[1];
    const seconds = problem["retry_after_seconds"];
    this.retryAfterMs = typeof seconds === "number" ? seconds * 1000 : retryAfterMs;
    this.ticketId = text("ticket_id") || undefined;
    this.until = text("until") ? new Date(text("until")) : undefined;
    this.extensions = Object.fromEntries(Object.entries(problem).filter(([name]) => !named.has(name)));
    Object.defineProperty(this, "conflictToken", { value: text("conflict_token") || undefined });
  }
}

const named = new Set(
  "type title status detail instance code retry_after_seconds until ticket_id conflict_token".split(" "),
);

/** The server was not reached, or what answered is not the server. */
export class NetworkError extends MusterError {
  override get name(): string {
    return "NetworkError";
  }
}

/** The server did not answer in time. */
export class TimeoutError extends MusterError {
  override get name(): string {
    return "TimeoutError";
  }
}

/** The client was closed. */
export class ClosedError extends MusterError {
  override get name(): string {
    return "ClosedError";
  }
}

/** The call needs a login, and there is none to come back to. */
export class LoggedOutError extends MusterError {
  override get name(): string {
    return "LoggedOutError";
  }
}

/** An argument cannot be sent. */
export class UsageError extends MusterError {
  override get name(): string {
    return "UsageError";
  }
}

/** A ticket ended without a match. */
export class MatchError extends MusterError {
  override get name(): string {
    return "MatchError";
  }
  /** The ticket as it ended. */
  readonly ticket: Ticket;

  /** @internal */
  constructor(ticket: Ticket) {
    super(`ticket ${ticket.ticketId} is ${ticket.state}${ticket.reason ? `: ${ticket.reason}` : ""}`);
    this.ticket = ticket;
  }
}

/** A placement ended without a game session. */
export class PlacementError extends MusterError {
  override get name(): string {
    return "PlacementError";
  }
  /** The placement as it ended. */
  readonly placement: Placement;

  /** @internal */
  constructor(placement: Placement) {
    super(`placement ${placement.placementId} is ${placement.state}${placement.reason ? `: ${placement.reason}` : ""}`);
    this.placement = placement;
  }
}

/**
 * Returns the problem of an answer.
 *
 * @internal
 */
export function problemOf(status: number, body: string, retryAfter: string | null, now: number): ProblemError {
  let problem: unknown;
  try {
    problem = JSON.parse(body);
  } catch {
    // a proxy answered
  }
  const members = typeof problem === "object" && problem !== null && "code" in problem ? problem : {};
  return new ProblemError(status, members as Record<string, unknown>, retryAfterMs(retryAfter, now));
}

/**
 * Parses the header Retry-After: seconds, or a date.
 *
 * @internal
 */
export function retryAfterMs(header: string | null, now: number): number | undefined {
  if (header === null || header.trim() === "") {
    return undefined;
  }
  const seconds = Number(header);
  const ms = Number.isNaN(seconds) ? Date.parse(header) - now : seconds * 1000;
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
