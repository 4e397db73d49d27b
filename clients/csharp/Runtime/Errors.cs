using System;

namespace Muster
{
    /// <summary>An error of this library. Its subclasses say which.</summary>
    public class MusterException : Exception
    {
        internal MusterException(string message, Exception cause = null) : base(message, cause) { }
    }

    /// <summary>The server refused a request. Code says why, for programs (docs/players.md).</summary>
    public sealed class ProblemException : MusterException
    {
        /// <summary>HTTP status.</summary>
        public int Status { get; private set; }

        /// <summary>The kind of problem, such as ticket-active.</summary>
        public string Code { get; private set; }

        /// <summary>What is wrong with this request; may be null.</summary>
        public string Detail { get { return Problem.Detail; } }

        /// <summary>All that the server said. ConflictToken is a secret: do not log it.</summary>
        public Problem Problem { get; private set; }

        /// <summary>How long to wait before another attempt; null if the server did not say.</summary>
        public TimeSpan? RetryAfter { get; private set; }

        internal ProblemException(int status, Problem problem, TimeSpan? retryAfter)
            : base(problem.Detail == null ? problem.Code : problem.Code + ": " + problem.Detail)
        {
            Status = status;
            Code = problem.Code;
            Problem = problem;
            RetryAfter = retryAfter;
        }

        /// <summary>Reports whether an error is the refusal of a kind.</summary>
        public static bool Is(Exception error, string code)
        {
            var problem = error as ProblemException;
            return problem != null && problem.Code == code;
        }
    }

    /// <summary>The server was not reached, or its answer was lost. What was asked for may have happened.</summary>
    public class NetworkException : MusterException
    {
        internal NetworkException(string message, Exception cause = null) : base(message, cause) { }
    }

    /// <summary>No answer came in time. What was asked for may have happened.</summary>
    public sealed class AnswerTimeoutException : NetworkException
    {
        internal AnswerTimeoutException(string message) : base(message) { }
    }

    /// <summary>Nobody is logged in: log in first.</summary>
    public sealed class LoggedOutException : MusterException
    {
        internal LoggedOutException(Exception cause = null) : base("nobody is logged in: log in first", cause) { }
    }

    /// <summary>A ticket ended without a match. Ticket.State and Ticket.Reason say how.</summary>
    public sealed class MatchException : MusterException
    {
        /// <summary>The ticket as it ended.</summary>
        public Ticket Ticket { get; private set; }

        internal MatchException(Ticket ticket)
            : base("the ticket ended without a match: " + TicketStateText.Of(ticket.State) + (ticket.Reason == null ? "" : ", " + ticket.Reason))
        {
            Ticket = ticket;
        }
    }

    /// <summary>A placement ended without a game session. Placement.State and Placement.Reason say how.</summary>
    public sealed class PlacementException : MusterException
    {
        /// <summary>The placement as it ended.</summary>
        public Placement Placement { get; private set; }

        internal PlacementException(Placement placement)
            : base("the placement ended without a game session: " + PlacementStateText.Of(placement.State) + (placement.Reason == null ? "" : ", " + placement.Reason))
        {
            Placement = placement;
        }
    }
}
