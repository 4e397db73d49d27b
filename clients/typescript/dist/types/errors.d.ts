import type { Placement, ProblemCode, Ticket } from "./api.js";
/** The base of the errors that this library throws, besides those of an AbortSignal. */
export declare class MusterError extends Error {
    get name(): string;
}
/** The members of a problem that {@link ProblemError} does not name. */
export type Extensions = Readonly<Record<string, unknown>>;
/** The server refused a request (RFC 9457). */
export declare class ProblemError extends MusterError {
    get name(): string;
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
    readonly conflictToken: string | undefined;
}
/** The server was not reached, or what answered is not the server. */
export declare class NetworkError extends MusterError {
    get name(): string;
}
/** The server did not answer in time. */
export declare class TimeoutError extends MusterError {
    get name(): string;
}
/** The client was closed. */
export declare class ClosedError extends MusterError {
    get name(): string;
}
/** The call needs a login, and there is none to come back to. */
export declare class LoggedOutError extends MusterError {
    get name(): string;
}
/** An argument cannot be sent. */
export declare class UsageError extends MusterError {
    get name(): string;
}
/** A ticket ended without a match. */
export declare class MatchError extends MusterError {
    get name(): string;
    /** The ticket as it ended. */
    readonly ticket: Ticket;
}
/** A placement ended without a game session. */
export declare class PlacementError extends MusterError {
    get name(): string;
    /** The placement as it ended. */
    readonly placement: Placement;
}
