// Code generated from openapi.yaml and asyncapi.yaml. DO NOT EDIT.

using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Muster
{
    /// <summary>What went wrong (RFC 9457).</summary>
    public sealed class Problem
    {
        /// <summary>URI of the kind of problem.</summary>
        public string Type { get; set; }

        /// <summary>The kind of problem in words.</summary>
        public string Title { get; set; }

        /// <summary>HTTP status.</summary>
        public long Status { get; set; }

        /// <summary>What is wrong with this request.</summary>
        public string Detail { get; set; }

        /// <summary>The request, as X-Request-Id names it.</summary>
        public string Instance { get; set; }

        /// <summary>The kind of problem, for programs.</summary>
        public string Code { get; set; }

        /// <summary>When to try again.</summary>
        public long? RetryAfterSeconds { get; set; }

        /// <summary>When a ban ends.</summary>
        public DateTime? Until { get; set; }

        /// <summary>The ticket that is in the way.</summary>
        public string TicketId { get; set; }

        /// <summary>Of identity-in-use: lets the player who asked merge the two, once, within 5 minutes; not told where the other player is banned.</summary>
        public string ConflictToken { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static Problem FromJson(JsonValue json)
        {
            return new Problem
            {
                Type = json["type"].Text(),
                Title = json["title"].Text(),
                Status = json["status"].Long(),
                Detail = json["detail"].Text(),
                Instance = json["instance"].Text(),
                Code = json["code"].Text(),
                RetryAfterSeconds = json["retry_after_seconds"].LongOrNull(),
                Until = json["until"].TimeOrNull(),
                TicketId = json["ticket_id"].Text(),
                ConflictToken = json["conflict_token"].Text(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Type != null) json.Set("type", JsonValue.Of(Type));
            if (Title != null) json.Set("title", JsonValue.Of(Title));
            json.Set("status", JsonValue.Of(Status));
            if (Detail != null) json.Set("detail", JsonValue.Of(Detail));
            if (Instance != null) json.Set("instance", JsonValue.Of(Instance));
            if (Code != null) json.Set("code", JsonValue.Of(Code));
            if (RetryAfterSeconds.HasValue) json.Set("retry_after_seconds", JsonValue.Of(RetryAfterSeconds.Value));
            if (Until.HasValue) json.Set("until", JsonValue.Of(Until.Value));
            if (TicketId != null) json.Set("ticket_id", JsonValue.Of(TicketId));
            if (ConflictToken != null) json.Set("conflict_token", JsonValue.Of(ConflictToken));
            return json;
        }
    }

    /// <summary>A guest who comes back.</summary>
    public sealed class GuestLogin
    {
        /// <summary>From the account’s creation.</summary>
        public string PlayerId { get; set; }

        /// <summary>From the account’s creation.</summary>
        public string GuestSecret { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static GuestLogin FromJson(JsonValue json)
        {
            return new GuestLogin
            {
                PlayerId = json["player_id"].Text(),
                GuestSecret = json["guest_secret"].Text(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (PlayerId != null) json.Set("player_id", JsonValue.Of(PlayerId));
            if (GuestSecret != null) json.Set("guest_secret", JsonValue.Of(GuestSecret));
            return json;
        }
    }

    /// <summary>What a provider gave to the client.</summary>
    public sealed class ProviderLogin
    {
        /// <summary>ID token, access token, Steam ticket in hex, or what the operator’s webhook understands.</summary>
        public string Token { get; set; }

        /// <summary>The raw nonce that the token was asked for with.</summary>
        public string Nonce { get; set; }

        /// <summary>Steam: the identity the ticket was made for.</summary>
        public string Identity { get; set; }

        /// <summary>Make an account where there is none; default true.</summary>
        public bool? Create { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static ProviderLogin FromJson(JsonValue json)
        {
            return new ProviderLogin
            {
                Token = json["token"].Text(),
                Nonce = json["nonce"].Text(),
                Identity = json["identity"].Text(),
                Create = json["create"].BoolOrNull(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Token != null) json.Set("token", JsonValue.Of(Token));
            if (Nonce != null) json.Set("nonce", JsonValue.Of(Nonce));
            if (Identity != null) json.Set("identity", JsonValue.Of(Identity));
            if (Create.HasValue) json.Set("create", JsonValue.Of(Create.Value));
            return json;
        }
    }

    /// <summary>Which of two players to keep. The other must have no further account elsewhere, and is given up with its data.</summary>
    public sealed class MergeRequest
    {
        /// <summary>From the refused link.</summary>
        public string ConflictToken { get; set; }

        /// <summary>The player who asks, or the one whom the account leads to.</summary>
        public MergeRequestKeep Keep { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static MergeRequest FromJson(JsonValue json)
        {
            return new MergeRequest
            {
                ConflictToken = json["conflict_token"].Text(),
                Keep = MergeRequestKeepText.Parse(json["keep"].Text()),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (ConflictToken != null) json.Set("conflict_token", JsonValue.Of(ConflictToken));
            json.Set("keep", JsonValue.Of(MergeRequestKeepText.Of(Keep)));
            return json;
        }
    }

    /// <summary>The player who asks, or the one whom the account leads to.</summary>
    public enum MergeRequestKeep
    {
        /// <summary>A value that this release of the library does not know.</summary>
        Unknown,
        /// <summary>mine.</summary>
        Mine,
        /// <summary>theirs.</summary>
        Theirs,
    }

    /// <summary>The spelling of MergeRequestKeep.</summary>
    public static class MergeRequestKeepText
    {
        /// <summary>Returns the spelling of a value.</summary>
        public static string Of(MergeRequestKeep value)
        {
            switch (value)
            {
                case MergeRequestKeep.Mine: return "mine";
                case MergeRequestKeep.Theirs: return "theirs";
            }
            return "unknown";
        }

        /// <summary>Returns the value with a spelling.</summary>
        public static MergeRequestKeep Parse(string text)
        {
            switch (text)
            {
                case "mine": return MergeRequestKeep.Mine;
                case "theirs": return MergeRequestKeep.Theirs;
            }
            return MergeRequestKeep.Unknown;
        }
    }

    /// <summary>A refresh token to use up.</summary>
    public sealed class RefreshRequest
    {
        /// <summary>The newest one of its login.</summary>
        public string RefreshToken { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static RefreshRequest FromJson(JsonValue json)
        {
            return new RefreshRequest
            {
                RefreshToken = json["refresh_token"].Text(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (RefreshToken != null) json.Set("refresh_token", JsonValue.Of(RefreshToken));
            return json;
        }
    }

    /// <summary>Which logins to end: the refresh token’s, or those of the access token.</summary>
    public sealed class LogoutRequest
    {
        /// <summary>Ends its login.</summary>
        public string RefreshToken { get; set; }

        /// <summary>Ends all logins of the player; needs an access token.</summary>
        public bool? All { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static LogoutRequest FromJson(JsonValue json)
        {
            return new LogoutRequest
            {
                RefreshToken = json["refresh_token"].Text(),
                All = json["all"].BoolOrNull(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (RefreshToken != null) json.Set("refresh_token", JsonValue.Of(RefreshToken));
            if (All.HasValue) json.Set("all", JsonValue.Of(All.Value));
            return json;
        }
    }

    /// <summary>An account elsewhere.</summary>
    public sealed class LinkedIdentity
    {
        /// <summary>Its provider.</summary>
        public string Provider { get; set; }

        /// <summary>The end of its name there.</summary>
        public string SubjectHint { get; set; }

        /// <summary>Since when.</summary>
        public DateTime LinkedAt { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static LinkedIdentity FromJson(JsonValue json)
        {
            return new LinkedIdentity
            {
                Provider = json["provider"].Text(),
                SubjectHint = json["subject_hint"].Text(),
                LinkedAt = json["linked_at"].Time(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Provider != null) json.Set("provider", JsonValue.Of(Provider));
            if (SubjectHint != null) json.Set("subject_hint", JsonValue.Of(SubjectHint));
            json.Set("linked_at", JsonValue.Of(LinkedAt));
            return json;
        }
    }

    /// <summary>A login.</summary>
    public sealed class Session
    {
        /// <summary>The player.</summary>
        public string PlayerId { get; set; }

        /// <summary>What the player has proven.</summary>
        public SessionScope Scope { get; set; }

        /// <summary>JWT for Authorization: Bearer.</summary>
        public string AccessToken { get; set; }

        /// <summary>Seconds.</summary>
        public long AccessTokenExpiresIn { get; set; }

        /// <summary>Gives the next login, once.</summary>
        public string RefreshToken { get; set; }

        /// <summary>Seconds.</summary>
        public long RefreshTokenExpiresIn { get; set; }

        /// <summary>The account is new.</summary>
        public bool Created { get; set; }

        /// <summary>Accounts elsewhere.</summary>
        public List<LinkedIdentity> Identities { get; set; } = new List<LinkedIdentity>();

        /// <summary>Of a new guest account; shown once.</summary>
        public string GuestSecret { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static Session FromJson(JsonValue json)
        {
            return new Session
            {
                PlayerId = json["player_id"].Text(),
                Scope = SessionScopeText.Parse(json["scope"].Text()),
                AccessToken = json["access_token"].Text(),
                AccessTokenExpiresIn = json["access_token_expires_in"].Long(),
                RefreshToken = json["refresh_token"].Text(),
                RefreshTokenExpiresIn = json["refresh_token_expires_in"].Long(),
                Created = json["created"].Bool(),
                Identities = json["identities"].List(v => v.IsNull ? null : LinkedIdentity.FromJson(v)),
                GuestSecret = json["guest_secret"].Text(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (PlayerId != null) json.Set("player_id", JsonValue.Of(PlayerId));
            json.Set("scope", JsonValue.Of(SessionScopeText.Of(Scope)));
            if (AccessToken != null) json.Set("access_token", JsonValue.Of(AccessToken));
            json.Set("access_token_expires_in", JsonValue.Of(AccessTokenExpiresIn));
            if (RefreshToken != null) json.Set("refresh_token", JsonValue.Of(RefreshToken));
            json.Set("refresh_token_expires_in", JsonValue.Of(RefreshTokenExpiresIn));
            json.Set("created", JsonValue.Of(Created));
            if (Identities != null) json.Set("identities", JsonValue.Of(Identities, v => v.ToJson()));
            if (GuestSecret != null) json.Set("guest_secret", JsonValue.Of(GuestSecret));
            return json;
        }
    }

    /// <summary>What the player has proven.</summary>
    public enum SessionScope
    {
        /// <summary>A value that this release of the library does not know.</summary>
        Unknown,
        /// <summary>guest.</summary>
        Guest,
        /// <summary>authenticated.</summary>
        Authenticated,
    }

    /// <summary>The spelling of SessionScope.</summary>
    public static class SessionScopeText
    {
        /// <summary>Returns the spelling of a value.</summary>
        public static string Of(SessionScope value)
        {
            switch (value)
            {
                case SessionScope.Guest: return "guest";
                case SessionScope.Authenticated: return "authenticated";
            }
            return "unknown";
        }

        /// <summary>Returns the value with a spelling.</summary>
        public static SessionScope Parse(string text)
        {
            switch (text)
            {
                case "guest": return SessionScope.Guest;
                case "authenticated": return SessionScope.Authenticated;
            }
            return SessionScope.Unknown;
        }
    }

    /// <summary>Lets one WebSocket in.</summary>
    public sealed class SocketTicket
    {
        /// <summary>For the query of /ws.</summary>
        public string Ticket { get; set; }

        /// <summary>Seconds.</summary>
        public long ExpiresIn { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static SocketTicket FromJson(JsonValue json)
        {
            return new SocketTicket
            {
                Ticket = json["ticket"].Text(),
                ExpiresIn = json["expires_in"].Long(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Ticket != null) json.Set("ticket", JsonValue.Of(Ticket));
            json.Set("expires_in", JsonValue.Of(ExpiresIn));
            return json;
        }
    }

    /// <summary>The player’s own account.</summary>
    public sealed class Player
    {
        /// <summary>The player.</summary>
        public string PlayerId { get; set; }

        /// <summary>Need not be unique.</summary>
        public string DisplayName { get; set; }

        /// <summary>Since when.</summary>
        public DateTime CreatedAt { get; set; }

        /// <summary>What the player has proven.</summary>
        public PlayerScope Scope { get; set; }

        /// <summary>Accounts elsewhere.</summary>
        public List<LinkedIdentity> Identities { get; set; } = new List<LinkedIdentity>();

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static Player FromJson(JsonValue json)
        {
            return new Player
            {
                PlayerId = json["player_id"].Text(),
                DisplayName = json["display_name"].Text(),
                CreatedAt = json["created_at"].Time(),
                Scope = PlayerScopeText.Parse(json["scope"].Text()),
                Identities = json["identities"].List(v => v.IsNull ? null : LinkedIdentity.FromJson(v)),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (PlayerId != null) json.Set("player_id", JsonValue.Of(PlayerId));
            if (DisplayName != null) json.Set("display_name", JsonValue.Of(DisplayName));
            json.Set("created_at", JsonValue.Of(CreatedAt));
            json.Set("scope", JsonValue.Of(PlayerScopeText.Of(Scope)));
            if (Identities != null) json.Set("identities", JsonValue.Of(Identities, v => v.ToJson()));
            return json;
        }
    }

    /// <summary>What the player has proven.</summary>
    public enum PlayerScope
    {
        /// <summary>A value that this release of the library does not know.</summary>
        Unknown,
        /// <summary>guest.</summary>
        Guest,
        /// <summary>authenticated.</summary>
        Authenticated,
    }

    /// <summary>The spelling of PlayerScope.</summary>
    public static class PlayerScopeText
    {
        /// <summary>Returns the spelling of a value.</summary>
        public static string Of(PlayerScope value)
        {
            switch (value)
            {
                case PlayerScope.Guest: return "guest";
                case PlayerScope.Authenticated: return "authenticated";
            }
            return "unknown";
        }

        /// <summary>Returns the value with a spelling.</summary>
        public static PlayerScope Parse(string text)
        {
            switch (text)
            {
                case "guest": return PlayerScope.Guest;
                case "authenticated": return PlayerScope.Authenticated;
            }
            return PlayerScope.Unknown;
        }
    }

    /// <summary>What to change.</summary>
    public sealed class PlayerChange
    {
        /// <summary>3 to 32 printable characters.</summary>
        public string DisplayName { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static PlayerChange FromJson(JsonValue json)
        {
            return new PlayerChange
            {
                DisplayName = json["display_name"].Text(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (DisplayName != null) json.Set("display_name", JsonValue.Of(DisplayName));
            return json;
        }
    }

    /// <summary>What anybody may know of a player.</summary>
    public sealed class PublicPlayer
    {
        /// <summary>The player.</summary>
        public string PlayerId { get; set; }

        /// <summary>Need not be unique.</summary>
        public string DisplayName { get; set; }

        /// <summary>Public data by key.</summary>
        public Dictionary<string, DataItem> Data { get; set; } = new Dictionary<string, DataItem>();

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static PublicPlayer FromJson(JsonValue json)
        {
            return new PublicPlayer
            {
                PlayerId = json["player_id"].Text(),
                DisplayName = json["display_name"].Text(),
                Data = json["data"].Map(v => v.IsNull ? null : DataItem.FromJson(v)),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (PlayerId != null) json.Set("player_id", JsonValue.Of(PlayerId));
            if (DisplayName != null) json.Set("display_name", JsonValue.Of(DisplayName));
            if (Data != null) json.Set("data", JsonValue.Of(Data, v => v.ToJson()));
            return json;
        }
    }

    /// <summary>Whom to look up.</summary>
    public sealed class PlayerLookup
    {
        /// <summary>Players, at most 50.</summary>
        public List<string> Ids { get; set; } = new List<string>();

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static PlayerLookup FromJson(JsonValue json)
        {
            return new PlayerLookup
            {
                Ids = json["ids"].List(v => v.Text()),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Ids != null) json.Set("ids", JsonValue.Of(Ids, v => JsonValue.Of(v)));
            return json;
        }
    }

    /// <summary>What anybody may know of several players.</summary>
    public sealed class PublicPlayers
    {
        /// <summary>In the order of the request, without players that do not exist.</summary>
        public List<PublicPlayer> Items { get; set; } = new List<PublicPlayer>();

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static PublicPlayers FromJson(JsonValue json)
        {
            return new PublicPlayers
            {
                Items = json["items"].List(v => v.IsNull ? null : PublicPlayer.FromJson(v)),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Items != null) json.Set("items", JsonValue.Of(Items, v => v.ToJson()));
            return json;
        }
    }

    /// <summary>A value of a player’s data.</summary>
    public sealed class DataItem
    {
        /// <summary>Any JSON of at most 32 KiB.</summary>
        public JsonValue Value { get; set; }

        /// <summary>Rises by one with each write; also the ETag.</summary>
        public long Version { get; set; }

        /// <summary>When it was written.</summary>
        public DateTime UpdatedAt { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static DataItem FromJson(JsonValue json)
        {
            return new DataItem
            {
                Value = json["value"],
                Version = json["version"].Long(),
                UpdatedAt = json["updated_at"].Time(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Value != null) json.Set("value", Value);
            json.Set("version", JsonValue.Of(Version));
            json.Set("updated_at", JsonValue.Of(UpdatedAt));
            return json;
        }
    }

    /// <summary>A namespace of a player’s data.</summary>
    public sealed class DataItems
    {
        /// <summary>By key.</summary>
        public Dictionary<string, DataItem> Items { get; set; } = new Dictionary<string, DataItem>();

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static DataItems FromJson(JsonValue json)
        {
            return new DataItems
            {
                Items = json["items"].Map(v => v.IsNull ? null : DataItem.FromJson(v)),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Items != null) json.Set("items", JsonValue.Of(Items, v => v.ToJson()));
            return json;
        }
    }

    /// <summary>What was measured for a location.</summary>
    public sealed class LatencySample
    {
        /// <summary>Its name.</summary>
        public string Location { get; set; }

        /// <summary>Round trip in milliseconds.</summary>
        public double RttMs { get; set; }

        /// <summary>How it was measured.</summary>
        public LatencySampleMethod? Method { get; set; }

        /// <summary>Signed by the beacon.</summary>
        public string Receipt { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static LatencySample FromJson(JsonValue json)
        {
            return new LatencySample
            {
                Location = json["location"].Text(),
                RttMs = json["rtt_ms"].Double(),
                Method = json["method"].IsNull ? (LatencySampleMethod?)null : LatencySampleMethodText.Parse(json["method"].Text()),
                Receipt = json["receipt"].Text(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Location != null) json.Set("location", JsonValue.Of(Location));
            json.Set("rtt_ms", JsonValue.Of(RttMs));
            if (Method.HasValue) json.Set("method", JsonValue.Of(LatencySampleMethodText.Of(Method.Value)));
            if (Receipt != null) json.Set("receipt", JsonValue.Of(Receipt));
            return json;
        }
    }

    /// <summary>How it was measured.</summary>
    public enum LatencySampleMethod
    {
        /// <summary>A value that this release of the library does not know.</summary>
        Unknown,
        /// <summary>udp.</summary>
        Udp,
        /// <summary>tcp.</summary>
        Tcp,
        /// <summary>https.</summary>
        Https,
    }

    /// <summary>The spelling of LatencySampleMethod.</summary>
    public static class LatencySampleMethodText
    {
        /// <summary>Returns the spelling of a value.</summary>
        public static string Of(LatencySampleMethod value)
        {
            switch (value)
            {
                case LatencySampleMethod.Udp: return "udp";
                case LatencySampleMethod.Tcp: return "tcp";
                case LatencySampleMethod.Https: return "https";
            }
            return "unknown";
        }

        /// <summary>Returns the value with a spelling.</summary>
        public static LatencySampleMethod Parse(string text)
        {
            switch (text)
            {
                case "udp": return LatencySampleMethod.Udp;
                case "tcp": return LatencySampleMethod.Tcp;
                case "https": return LatencySampleMethod.Https;
            }
            return LatencySampleMethod.Unknown;
        }
    }

    /// <summary>What was measured. Leave out what was not reached.</summary>
    public sealed class LatencyReport
    {
        /// <summary>At most 64.</summary>
        public List<LatencySample> Samples { get; set; } = new List<LatencySample>();

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static LatencyReport FromJson(JsonValue json)
        {
            return new LatencyReport
            {
                Samples = json["samples"].List(v => v.IsNull ? null : LatencySample.FromJson(v)),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Samples != null) json.Set("samples", JsonValue.Of(Samples, v => v.ToJson()));
            return json;
        }
    }

    /// <summary>A sample that does not count.</summary>
    public sealed class RejectedSample
    {
        /// <summary>Its name.</summary>
        public string Location { get; set; }

        /// <summary>Why.</summary>
        public RejectedSampleReason Reason { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static RejectedSample FromJson(JsonValue json)
        {
            return new RejectedSample
            {
                Location = json["location"].Text(),
                Reason = RejectedSampleReasonText.Parse(json["reason"].Text()),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Location != null) json.Set("location", JsonValue.Of(Location));
            json.Set("reason", JsonValue.Of(RejectedSampleReasonText.Of(Reason)));
            return json;
        }
    }

    /// <summary>Why.</summary>
    public enum RejectedSampleReason
    {
        /// <summary>A value that this release of the library does not know.</summary>
        Unknown,
        /// <summary>unknown-location.</summary>
        UnknownLocation,
        /// <summary>too-far.</summary>
        TooFar,
        /// <summary>not-a-number.</summary>
        NotANumber,
        /// <summary>repeated.</summary>
        Repeated,
        /// <summary>receipt-invalid.</summary>
        ReceiptInvalid,
    }

    /// <summary>The spelling of RejectedSampleReason.</summary>
    public static class RejectedSampleReasonText
    {
        /// <summary>Returns the spelling of a value.</summary>
        public static string Of(RejectedSampleReason value)
        {
            switch (value)
            {
                case RejectedSampleReason.UnknownLocation: return "unknown-location";
                case RejectedSampleReason.TooFar: return "too-far";
                case RejectedSampleReason.NotANumber: return "not-a-number";
                case RejectedSampleReason.Repeated: return "repeated";
                case RejectedSampleReason.ReceiptInvalid: return "receipt-invalid";
            }
            return "unknown";
        }

        /// <summary>Returns the value with a spelling.</summary>
        public static RejectedSampleReason Parse(string text)
        {
            switch (text)
            {
                case "unknown-location": return RejectedSampleReason.UnknownLocation;
                case "too-far": return RejectedSampleReason.TooFar;
                case "not-a-number": return RejectedSampleReason.NotANumber;
                case "repeated": return RejectedSampleReason.Repeated;
                case "receipt-invalid": return RejectedSampleReason.ReceiptInvalid;
            }
            return RejectedSampleReason.Unknown;
        }
    }

    /// <summary>What counts, for 15 minutes.</summary>
    public sealed class LatencyResult
    {
        /// <summary>Milliseconds by location.</summary>
        public Dictionary<string, long> Accepted { get; set; } = new Dictionary<string, long>();

        /// <summary>The rest.</summary>
        public List<RejectedSample> Rejected { get; set; } = new List<RejectedSample>();

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static LatencyResult FromJson(JsonValue json)
        {
            return new LatencyResult
            {
                Accepted = json["accepted"].Map(v => v.Long()),
                Rejected = json["rejected"].List(v => v.IsNull ? null : RejectedSample.FromJson(v)),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Accepted != null) json.Set("accepted", JsonValue.Of(Accepted, v => JsonValue.Of(v)));
            if (Rejected != null) json.Set("rejected", JsonValue.Of(Rejected, v => v.ToJson()));
            return json;
        }
    }

    /// <summary>A place where games can be.</summary>
    public sealed class Location
    {
        /// <summary>Its name.</summary>
        public string Name { get; set; }

        /// <summary>HOST:PORT of a UDP beacon.</summary>
        public string Udp { get; set; }

        /// <summary>HOST:PORT of a TCP beacon.</summary>
        public string Tcp { get; set; }

        /// <summary>URL that answers GET with 204.</summary>
        public string Https { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static Location FromJson(JsonValue json)
        {
            return new Location
            {
                Name = json["name"].Text(),
                Udp = json["udp"].Text(),
                Tcp = json["tcp"].Text(),
                Https = json["https"].Text(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Name != null) json.Set("name", JsonValue.Of(Name));
            if (Udp != null) json.Set("udp", JsonValue.Of(Udp));
            if (Tcp != null) json.Set("tcp", JsonValue.Of(Tcp));
            if (Https != null) json.Set("https", JsonValue.Of(Https));
            return json;
        }
    }

    /// <summary>Where games can be.</summary>
    public sealed class Locations
    {
        /// <summary>By name.</summary>
        public List<Location> Items { get; set; } = new List<Location>();

        /// <summary>How long this may be kept.</summary>
        public long TtlSeconds { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static Locations FromJson(JsonValue json)
        {
            return new Locations
            {
                Items = json["locations"].List(v => v.IsNull ? null : Location.FromJson(v)),
                TtlSeconds = json["ttl_seconds"].Long(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Items != null) json.Set("locations", JsonValue.Of(Items, v => v.ToJson()));
            json.Set("ttl_seconds", JsonValue.Of(TtlSeconds));
            return json;
        }
    }

    /// <summary>A way to log in.</summary>
    public sealed class ProviderInfo
    {
        /// <summary>For paths.</summary>
        public string Name { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static ProviderInfo FromJson(JsonValue json)
        {
            return new ProviderInfo
            {
                Name = json["name"].Text(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Name != null) json.Set("name", JsonValue.Of(Name));
            return json;
        }
    }

    /// <summary>A way to be matched.</summary>
    public sealed class MatchmakerInfo
    {
        /// <summary>For requests.</summary>
        public string Name { get; set; }

        /// <summary>Fewest players of a ticket.</summary>
        public long MinParty { get; set; }

        /// <summary>Most players of a ticket.</summary>
        public long MaxParty { get; set; }

        /// <summary>A match has to be accepted.</summary>
        public bool Acceptance { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static MatchmakerInfo FromJson(JsonValue json)
        {
            return new MatchmakerInfo
            {
                Name = json["name"].Text(),
                MinParty = json["min_party"].Long(),
                MaxParty = json["max_party"].Long(),
                Acceptance = json["acceptance"].Bool(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Name != null) json.Set("name", JsonValue.Of(Name));
            json.Set("min_party", JsonValue.Of(MinParty));
            json.Set("max_party", JsonValue.Of(MaxParty));
            json.Set("acceptance", JsonValue.Of(Acceptance));
            return json;
        }
    }

    /// <summary>Where game sessions without matchmaking come from.</summary>
    public sealed class PoolInfo
    {
        /// <summary>For requests.</summary>
        public string Name { get; set; }

        /// <summary>Players may make game sessions.</summary>
        public bool CanCreate { get; set; }

        /// <summary>Players may list and join game sessions.</summary>
        public bool CanList { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static PoolInfo FromJson(JsonValue json)
        {
            return new PoolInfo
            {
                Name = json["name"].Text(),
                CanCreate = json["can_create"].Bool(),
                CanList = json["can_list"].Bool(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Name != null) json.Set("name", JsonValue.Of(Name));
            json.Set("can_create", JsonValue.Of(CanCreate));
            json.Set("can_list", JsonValue.Of(CanList));
            return json;
        }
    }

    /// <summary>What a client has to know.</summary>
    public sealed class ClientConfig
    {
        /// <summary>Of this description.</summary>
        public string ApiVersion { get; set; }

        /// <summary>Now.</summary>
        public DateTime ServerTime { get; set; }

        /// <summary>Ways to log in besides guest.</summary>
        public List<ProviderInfo> Providers { get; set; } = new List<ProviderInfo>();

        /// <summary>For push.</summary>
        public string WebsocketUrl { get; set; }

        /// <summary>How often to ask, where no long poll is used.</summary>
        public long PollIntervalMs { get; set; }

        /// <summary>Longest wait of a long poll.</summary>
        public long MaxWaitSeconds { get; set; }

        /// <summary>Ways to be matched.</summary>
        public List<MatchmakerInfo> Matchmakers { get; set; } = new List<MatchmakerInfo>();

        /// <summary>Where game sessions without matchmaking come from.</summary>
        public List<PoolInfo> Pools { get; set; } = new List<PoolInfo>();

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static ClientConfig FromJson(JsonValue json)
        {
            return new ClientConfig
            {
                ApiVersion = json["api_version"].Text(),
                ServerTime = json["server_time"].Time(),
                Providers = json["providers"].List(v => v.IsNull ? null : ProviderInfo.FromJson(v)),
                WebsocketUrl = json["websocket_url"].Text(),
                PollIntervalMs = json["poll_interval_ms"].Long(),
                MaxWaitSeconds = json["max_wait_seconds"].Long(),
                Matchmakers = json["matchmakers"].List(v => v.IsNull ? null : MatchmakerInfo.FromJson(v)),
                Pools = json["pools"].List(v => v.IsNull ? null : PoolInfo.FromJson(v)),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (ApiVersion != null) json.Set("api_version", JsonValue.Of(ApiVersion));
            json.Set("server_time", JsonValue.Of(ServerTime));
            if (Providers != null) json.Set("providers", JsonValue.Of(Providers, v => v.ToJson()));
            if (WebsocketUrl != null) json.Set("websocket_url", JsonValue.Of(WebsocketUrl));
            json.Set("poll_interval_ms", JsonValue.Of(PollIntervalMs));
            json.Set("max_wait_seconds", JsonValue.Of(MaxWaitSeconds));
            if (Matchmakers != null) json.Set("matchmakers", JsonValue.Of(Matchmakers, v => v.ToJson()));
            if (Pools != null) json.Set("pools", JsonValue.Of(Pools, v => v.ToJson()));
            return json;
        }
    }

    /// <summary>A request for a match.</summary>
    public sealed class TicketRequest
    {
        /// <summary>One of the configuration’s.</summary>
        public string Matchmaker { get; set; }

        /// <summary>Match this party; only its leader may ask.</summary>
        public string PartyId { get; set; }

        /// <summary>Number, text, list of texts, or numbers by text; only those that the matchmaker takes from clients.</summary>
        public Dictionary<string, JsonValue> Attributes { get; set; }

        /// <summary>Milliseconds by location; default: what was reported.</summary>
        public Dictionary<string, double> LatencyMs { get; set; }

        /// <summary>Only where the matchmaker lets players choose.</summary>
        public string Team { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static TicketRequest FromJson(JsonValue json)
        {
            return new TicketRequest
            {
                Matchmaker = json["matchmaker"].Text(),
                PartyId = json["party_id"].Text(),
                Attributes = json["attributes"].Map(v => v),
                LatencyMs = json["latency_ms"].Map(v => v.Double()),
                Team = json["team"].Text(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Matchmaker != null) json.Set("matchmaker", JsonValue.Of(Matchmaker));
            if (PartyId != null) json.Set("party_id", JsonValue.Of(PartyId));
            if (Attributes != null) json.Set("attributes", JsonValue.Of(Attributes, v => v));
            if (LatencyMs != null) json.Set("latency_ms", JsonValue.Of(LatencyMs, v => JsonValue.Of(v)));
            if (Team != null) json.Set("team", JsonValue.Of(Team));
            return json;
        }
    }

    /// <summary>Who is on a ticket.</summary>
    public sealed class TicketPlayer
    {
        /// <summary>The player.</summary>
        public string PlayerId { get; set; }

        /// <summary>Once matched.</summary>
        public string Team { get; set; }

        /// <summary>Whether the player accepts the proposed match; null: no answer yet.</summary>
        public bool? Accepted { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static TicketPlayer FromJson(JsonValue json)
        {
            return new TicketPlayer
            {
                PlayerId = json["player_id"].Text(),
                Team = json["team"].Text(),
                Accepted = json["accepted"].BoolOrNull(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (PlayerId != null) json.Set("player_id", JsonValue.Of(PlayerId));
            if (Team != null) json.Set("team", JsonValue.Of(Team));
            if (Accepted.HasValue) json.Set("accepted", JsonValue.Of(Accepted.Value));
            return json;
        }
    }

    /// <summary>A proposed match waits for answers.</summary>
    public sealed class Acceptance
    {
        /// <summary>When it is given up.</summary>
        public DateTime? Deadline { get; set; }

        /// <summary>The asking player’s answer.</summary>
        public bool? Mine { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static Acceptance FromJson(JsonValue json)
        {
            return new Acceptance
            {
                Deadline = json["deadline"].TimeOrNull(),
                Mine = json["mine"].BoolOrNull(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Deadline.HasValue) json.Set("deadline", JsonValue.Of(Deadline.Value));
            if (Mine.HasValue) json.Set("mine", JsonValue.Of(Mine.Value));
            return json;
        }
    }

    /// <summary>Where to play. Only for the player who asks.</summary>
    public sealed class Connection
    {
        /// <summary>The game session: the region, fleet, custom location and id of its ARN, with colons in between.</summary>
        public string SessionId { get; set; }

        /// <summary>Its address: the IPv6 one for a client that comes over IPv6, if its machine has both.</summary>
        public string Ip { get; set; }

        /// <summary>All its IP addresses, that in ip first; a client that needs another kind takes that.</summary>
        public List<string> Addresses { get; set; }

        /// <summary>Its name, which TLS needs; ip where it has none.</summary>
        public string DnsName { get; set; }

        /// <summary>dns_name, or else ip.</summary>
        public string Host { get; set; }

        /// <summary>Its port.</summary>
        public long Port { get; set; }

        /// <summary>To show to the game server, which accepts it once (AcceptPlayerSession).</summary>
        public string PlayerSessionId { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static Connection FromJson(JsonValue json)
        {
            return new Connection
            {
                SessionId = json["session_id"].Text(),
                Ip = json["ip"].Text(),
                Addresses = json["addresses"].List(v => v.Text()),
                DnsName = json["dns_name"].Text(),
                Host = json["host"].Text(),
                Port = json["port"].Long(),
                PlayerSessionId = json["player_session_id"].Text(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (SessionId != null) json.Set("session_id", JsonValue.Of(SessionId));
            if (Ip != null) json.Set("ip", JsonValue.Of(Ip));
            if (Addresses != null) json.Set("addresses", JsonValue.Of(Addresses, v => JsonValue.Of(v)));
            if (DnsName != null) json.Set("dns_name", JsonValue.Of(DnsName));
            if (Host != null) json.Set("host", JsonValue.Of(Host));
            json.Set("port", JsonValue.Of(Port));
            if (PlayerSessionId != null) json.Set("player_session_id", JsonValue.Of(PlayerSessionId));
            return json;
        }
    }

    /// <summary>A request for a match, and its outcome so far.</summary>
    public sealed class Ticket
    {
        /// <summary>Its name.</summary>
        public string TicketId { get; set; }

        /// <summary>As asked.</summary>
        public string Matchmaker { get; set; }

        /// <summary>As asked.</summary>
        public string PartyId { get; set; }

        /// <summary>Where it is.</summary>
        public TicketState State { get; set; }

        /// <summary>Why it ended without a match.</summary>
        public string Reason { get; set; }

        /// <summary>When it was asked.</summary>
        public DateTime CreatedAt { get; set; }

        /// <summary>When this changed.</summary>
        public DateTime UpdatedAt { get; set; }

        /// <summary>When it is forgotten.</summary>
        public DateTime ExpiresAt { get; set; }

        /// <summary>A guess.</summary>
        public long? EstimatedWaitSeconds { get; set; }

        /// <summary>Who is matched together.</summary>
        public List<TicketPlayer> Players { get; set; } = new List<TicketPlayer>();

        /// <summary>While a proposed match waits.</summary>
        public Acceptance Acceptance { get; set; }

        /// <summary>Once proposed.</summary>
        public string MatchId { get; set; }

        /// <summary>Once completed.</summary>
        public Connection Connection { get; set; }

        /// <summary>Rises with each change; also the ETag.</summary>
        public long Seq { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static Ticket FromJson(JsonValue json)
        {
            return new Ticket
            {
                TicketId = json["ticket_id"].Text(),
                Matchmaker = json["matchmaker"].Text(),
                PartyId = json["party_id"].Text(),
                State = TicketStateText.Parse(json["state"].Text()),
                Reason = json["reason"].Text(),
                CreatedAt = json["created_at"].Time(),
                UpdatedAt = json["updated_at"].Time(),
                ExpiresAt = json["expires_at"].Time(),
                EstimatedWaitSeconds = json["estimated_wait_seconds"].LongOrNull(),
                Players = json["players"].List(v => v.IsNull ? null : TicketPlayer.FromJson(v)),
                Acceptance = json["acceptance"].IsNull ? null : Acceptance.FromJson(json["acceptance"]),
                MatchId = json["match_id"].Text(),
                Connection = json["connection"].IsNull ? null : Connection.FromJson(json["connection"]),
                Seq = json["seq"].Long(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (TicketId != null) json.Set("ticket_id", JsonValue.Of(TicketId));
            if (Matchmaker != null) json.Set("matchmaker", JsonValue.Of(Matchmaker));
            if (PartyId != null) json.Set("party_id", JsonValue.Of(PartyId));
            json.Set("state", JsonValue.Of(TicketStateText.Of(State)));
            if (Reason != null) json.Set("reason", JsonValue.Of(Reason));
            json.Set("created_at", JsonValue.Of(CreatedAt));
            json.Set("updated_at", JsonValue.Of(UpdatedAt));
            json.Set("expires_at", JsonValue.Of(ExpiresAt));
            if (EstimatedWaitSeconds.HasValue) json.Set("estimated_wait_seconds", JsonValue.Of(EstimatedWaitSeconds.Value));
            if (Players != null) json.Set("players", JsonValue.Of(Players, v => v.ToJson()));
            if (Acceptance != null) json.Set("acceptance", Acceptance.ToJson());
            if (MatchId != null) json.Set("match_id", JsonValue.Of(MatchId));
            if (Connection != null) json.Set("connection", Connection.ToJson());
            json.Set("seq", JsonValue.Of(Seq));
            return json;
        }
    }

    /// <summary>Where it is.</summary>
    public enum TicketState
    {
        /// <summary>A value that this release of the library does not know.</summary>
        Unknown,
        /// <summary>queued.</summary>
        Queued,
        /// <summary>searching.</summary>
        Searching,
        /// <summary>requires_acceptance.</summary>
        RequiresAcceptance,
        /// <summary>placing.</summary>
        Placing,
        /// <summary>completed.</summary>
        Completed,
        /// <summary>failed.</summary>
        Failed,
        /// <summary>cancelled.</summary>
        Cancelled,
        /// <summary>timed_out.</summary>
        TimedOut,
    }

    /// <summary>The spelling of TicketState.</summary>
    public static class TicketStateText
    {
        /// <summary>Returns the spelling of a value.</summary>
        public static string Of(TicketState value)
        {
            switch (value)
            {
                case TicketState.Queued: return "queued";
                case TicketState.Searching: return "searching";
                case TicketState.RequiresAcceptance: return "requires_acceptance";
                case TicketState.Placing: return "placing";
                case TicketState.Completed: return "completed";
                case TicketState.Failed: return "failed";
                case TicketState.Cancelled: return "cancelled";
                case TicketState.TimedOut: return "timed_out";
            }
            return "unknown";
        }

        /// <summary>Returns the value with a spelling.</summary>
        public static TicketState Parse(string text)
        {
            switch (text)
            {
                case "queued": return TicketState.Queued;
                case "searching": return TicketState.Searching;
                case "requires_acceptance": return TicketState.RequiresAcceptance;
                case "placing": return TicketState.Placing;
                case "completed": return TicketState.Completed;
                case "failed": return TicketState.Failed;
                case "cancelled": return TicketState.Cancelled;
                case "timed_out": return TicketState.TimedOut;
            }
            return TicketState.Unknown;
        }
    }

    /// <summary>Tickets of a player.</summary>
    public sealed class Tickets
    {
        /// <summary>The newest first.</summary>
        public List<Ticket> Items { get; set; } = new List<Ticket>();

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static Tickets FromJson(JsonValue json)
        {
            return new Tickets
            {
                Items = json["items"].List(v => v.IsNull ? null : Ticket.FromJson(v)),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Items != null) json.Set("items", JsonValue.Of(Items, v => v.ToJson()));
            return json;
        }
    }

    /// <summary>An answer to a proposed match.</summary>
    public sealed class AcceptRequest
    {
        /// <summary>Yes or no.</summary>
        public bool Accept { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static AcceptRequest FromJson(JsonValue json)
        {
            return new AcceptRequest
            {
                Accept = json["accept"].Bool(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            json.Set("accept", JsonValue.Of(Accept));
            return json;
        }
    }

    /// <summary>A new party.</summary>
    public sealed class PartyRequest
    {
        /// <summary>That it will be matched with.</summary>
        public string Matchmaker { get; set; }

        /// <summary>Most members; default and most: the matchmaker’s.</summary>
        public long? Max { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static PartyRequest FromJson(JsonValue json)
        {
            return new PartyRequest
            {
                Matchmaker = json["matchmaker"].Text(),
                Max = json["max"].LongOrNull(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Matchmaker != null) json.Set("matchmaker", JsonValue.Of(Matchmaker));
            if (Max.HasValue) json.Set("max", JsonValue.Of(Max.Value));
            return json;
        }
    }

    /// <summary>A way into a party.</summary>
    public sealed class PartyJoin
    {
        /// <summary>From a member.</summary>
        public string Code { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static PartyJoin FromJson(JsonValue json)
        {
            return new PartyJoin
            {
                Code = json["code"].Text(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Code != null) json.Set("code", JsonValue.Of(Code));
            return json;
        }
    }

    /// <summary>A member’s own state.</summary>
    public sealed class MemberChange
    {
        /// <summary>Agrees to be matched, for a minute.</summary>
        public bool Ready { get; set; }

        /// <summary>As in TicketRequest.</summary>
        public Dictionary<string, JsonValue> Attributes { get; set; }

        /// <summary>As in TicketRequest.</summary>
        public Dictionary<string, double> LatencyMs { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static MemberChange FromJson(JsonValue json)
        {
            return new MemberChange
            {
                Ready = json["ready"].Bool(),
                Attributes = json["attributes"].Map(v => v),
                LatencyMs = json["latency_ms"].Map(v => v.Double()),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            json.Set("ready", JsonValue.Of(Ready));
            if (Attributes != null) json.Set("attributes", JsonValue.Of(Attributes, v => v));
            if (LatencyMs != null) json.Set("latency_ms", JsonValue.Of(LatencyMs, v => JsonValue.Of(v)));
            return json;
        }
    }

    /// <summary>Who is in a party.</summary>
    public sealed class PartyMember
    {
        /// <summary>The player.</summary>
        public string PlayerId { get; set; }

        /// <summary>Agrees to be matched now.</summary>
        public bool Ready { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static PartyMember FromJson(JsonValue json)
        {
            return new PartyMember
            {
                PlayerId = json["player_id"].Text(),
                Ready = json["ready"].Bool(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (PlayerId != null) json.Set("player_id", JsonValue.Of(PlayerId));
            json.Set("ready", JsonValue.Of(Ready));
            return json;
        }
    }

    /// <summary>Players who want to be matched together.</summary>
    public sealed class Party
    {
        /// <summary>Its name.</summary>
        public string PartyId { get; set; }

        /// <summary>Lets others in.</summary>
        public string Code { get; set; }

        /// <summary>Who may start.</summary>
        public string Leader { get; set; }

        /// <summary>That it will be matched with.</summary>
        public string Matchmaker { get; set; }

        /// <summary>Most members.</summary>
        public long Max { get; set; }

        /// <summary>In order of joining.</summary>
        public List<PartyMember> Members { get; set; } = new List<PartyMember>();

        /// <summary>When it ends unless used.</summary>
        public DateTime ExpiresAt { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static Party FromJson(JsonValue json)
        {
            return new Party
            {
                PartyId = json["party_id"].Text(),
                Code = json["code"].Text(),
                Leader = json["leader"].Text(),
                Matchmaker = json["matchmaker"].Text(),
                Max = json["max"].Long(),
                Members = json["members"].List(v => v.IsNull ? null : PartyMember.FromJson(v)),
                ExpiresAt = json["expires_at"].Time(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (PartyId != null) json.Set("party_id", JsonValue.Of(PartyId));
            if (Code != null) json.Set("code", JsonValue.Of(Code));
            if (Leader != null) json.Set("leader", JsonValue.Of(Leader));
            if (Matchmaker != null) json.Set("matchmaker", JsonValue.Of(Matchmaker));
            json.Set("max", JsonValue.Of(Max));
            if (Members != null) json.Set("members", JsonValue.Of(Members, v => v.ToJson()));
            json.Set("expires_at", JsonValue.Of(ExpiresAt));
            return json;
        }
    }

    /// <summary>A new game session.</summary>
    public sealed class SessionRequest
    {
        /// <summary>One of the configuration’s.</summary>
        public string Pool { get; set; }

        /// <summary>For people.</summary>
        public string Name { get; set; }

        /// <summary>Default and most: the pool’s.</summary>
        public long? MaxPlayers { get; set; }

        /// <summary>Only keys that the pool allows.</summary>
        public Dictionary<string, string> Properties { get; set; }

        /// <summary>As in TicketRequest.</summary>
        public Dictionary<string, double> LatencyMs { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static SessionRequest FromJson(JsonValue json)
        {
            return new SessionRequest
            {
                Pool = json["pool"].Text(),
                Name = json["name"].Text(),
                MaxPlayers = json["max_players"].LongOrNull(),
                Properties = json["properties"].Map(v => v.Text()),
                LatencyMs = json["latency_ms"].Map(v => v.Double()),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Pool != null) json.Set("pool", JsonValue.Of(Pool));
            if (Name != null) json.Set("name", JsonValue.Of(Name));
            if (MaxPlayers.HasValue) json.Set("max_players", JsonValue.Of(MaxPlayers.Value));
            if (Properties != null) json.Set("properties", JsonValue.Of(Properties, v => JsonValue.Of(v)));
            if (LatencyMs != null) json.Set("latency_ms", JsonValue.Of(LatencyMs, v => JsonValue.Of(v)));
            return json;
        }
    }

    /// <summary>A game session on its way.</summary>
    public sealed class Placement
    {
        /// <summary>Its name.</summary>
        public string PlacementId { get; set; }

        /// <summary>As asked.</summary>
        public string Pool { get; set; }

        /// <summary>Where it is.</summary>
        public PlacementState State { get; set; }

        /// <summary>Why it ended without a game session.</summary>
        public string Reason { get; set; }

        /// <summary>When it was asked.</summary>
        public DateTime CreatedAt { get; set; }

        /// <summary>When it is forgotten.</summary>
        public DateTime ExpiresAt { get; set; }

        /// <summary>Once fulfilled.</summary>
        public Connection Connection { get; set; }

        /// <summary>Rises with each change; also the ETag.</summary>
        public long Seq { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static Placement FromJson(JsonValue json)
        {
            return new Placement
            {
                PlacementId = json["placement_id"].Text(),
                Pool = json["pool"].Text(),
                State = PlacementStateText.Parse(json["state"].Text()),
                Reason = json["reason"].Text(),
                CreatedAt = json["created_at"].Time(),
                ExpiresAt = json["expires_at"].Time(),
                Connection = json["connection"].IsNull ? null : Connection.FromJson(json["connection"]),
                Seq = json["seq"].Long(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (PlacementId != null) json.Set("placement_id", JsonValue.Of(PlacementId));
            if (Pool != null) json.Set("pool", JsonValue.Of(Pool));
            json.Set("state", JsonValue.Of(PlacementStateText.Of(State)));
            if (Reason != null) json.Set("reason", JsonValue.Of(Reason));
            json.Set("created_at", JsonValue.Of(CreatedAt));
            json.Set("expires_at", JsonValue.Of(ExpiresAt));
            if (Connection != null) json.Set("connection", Connection.ToJson());
            json.Set("seq", JsonValue.Of(Seq));
            return json;
        }
    }

    /// <summary>Where it is.</summary>
    public enum PlacementState
    {
        /// <summary>A value that this release of the library does not know.</summary>
        Unknown,
        /// <summary>pending.</summary>
        Pending,
        /// <summary>fulfilled.</summary>
        Fulfilled,
        /// <summary>cancelled.</summary>
        Cancelled,
        /// <summary>timed_out.</summary>
        TimedOut,
        /// <summary>failed.</summary>
        Failed,
    }

    /// <summary>The spelling of PlacementState.</summary>
    public static class PlacementStateText
    {
        /// <summary>Returns the spelling of a value.</summary>
        public static string Of(PlacementState value)
        {
            switch (value)
            {
                case PlacementState.Pending: return "pending";
                case PlacementState.Fulfilled: return "fulfilled";
                case PlacementState.Cancelled: return "cancelled";
                case PlacementState.TimedOut: return "timed_out";
                case PlacementState.Failed: return "failed";
            }
            return "unknown";
        }

        /// <summary>Returns the value with a spelling.</summary>
        public static PlacementState Parse(string text)
        {
            switch (text)
            {
                case "pending": return PlacementState.Pending;
                case "fulfilled": return PlacementState.Fulfilled;
                case "cancelled": return PlacementState.Cancelled;
                case "timed_out": return PlacementState.TimedOut;
                case "failed": return PlacementState.Failed;
            }
            return PlacementState.Unknown;
        }
    }

    /// <summary>A game. It is a picture of one moment.</summary>
    public sealed class GameSession
    {
        /// <summary>Its name: the region, fleet, custom location and id of its ARN, with colons in between.</summary>
        public string SessionId { get; set; }

        /// <summary>Where it is in its life.</summary>
        public GameSessionStatus Status { get; set; }

        /// <summary>Why it ended, where somebody ended it.</summary>
        public string StatusReason { get; set; }

        /// <summary>For people.</summary>
        public string Name { get; set; }

        /// <summary>Where it came from, unless no player made it.</summary>
        public string Pool { get; set; }

        /// <summary>As the player who created it set them; absent if no player did.</summary>
        public Dictionary<string, string> Properties { get; set; } = new Dictionary<string, string>();

        /// <summary>Present and expected.</summary>
        public long Players { get; set; }

        /// <summary>Most players.</summary>
        public long MaxPlayers { get; set; }

        /// <summary>The game lets others in, while there is room.</summary>
        public bool AcceptsPlayers { get; set; }

        /// <summary>Where it is.</summary>
        public string Location { get; set; }

        /// <summary>Since when.</summary>
        public DateTime CreatedAt { get; set; }

        /// <summary>Until when, once it is over.</summary>
        public DateTime? EndedAt { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static GameSession FromJson(JsonValue json)
        {
            return new GameSession
            {
                SessionId = json["session_id"].Text(),
                Status = GameSessionStatusText.Parse(json["status"].Text()),
                StatusReason = json["status_reason"].Text(),
                Name = json["name"].Text(),
                Pool = json["pool"].Text(),
                Properties = json["properties"].Map(v => v.Text()),
                Players = json["players"].Long(),
                MaxPlayers = json["max_players"].Long(),
                AcceptsPlayers = json["accepts_players"].Bool(),
                Location = json["location"].Text(),
                CreatedAt = json["created_at"].Time(),
                EndedAt = json["ended_at"].TimeOrNull(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (SessionId != null) json.Set("session_id", JsonValue.Of(SessionId));
            json.Set("status", JsonValue.Of(GameSessionStatusText.Of(Status)));
            if (StatusReason != null) json.Set("status_reason", JsonValue.Of(StatusReason));
            if (Name != null) json.Set("name", JsonValue.Of(Name));
            if (Pool != null) json.Set("pool", JsonValue.Of(Pool));
            if (Properties != null) json.Set("properties", JsonValue.Of(Properties, v => JsonValue.Of(v)));
            json.Set("players", JsonValue.Of(Players));
            json.Set("max_players", JsonValue.Of(MaxPlayers));
            json.Set("accepts_players", JsonValue.Of(AcceptsPlayers));
            if (Location != null) json.Set("location", JsonValue.Of(Location));
            json.Set("created_at", JsonValue.Of(CreatedAt));
            if (EndedAt.HasValue) json.Set("ended_at", JsonValue.Of(EndedAt.Value));
            return json;
        }
    }

    /// <summary>Where it is in its life.</summary>
    public enum GameSessionStatus
    {
        /// <summary>A value that this release of the library does not know.</summary>
        Unknown,
        /// <summary>ACTIVATING.</summary>
        Activating,
        /// <summary>ACTIVE.</summary>
        Active,
        /// <summary>TERMINATING.</summary>
        Terminating,
        /// <summary>TERMINATED.</summary>
        Terminated,
    }

    /// <summary>The spelling of GameSessionStatus.</summary>
    public static class GameSessionStatusText
    {
        /// <summary>Returns the spelling of a value.</summary>
        public static string Of(GameSessionStatus value)
        {
            switch (value)
            {
                case GameSessionStatus.Activating: return "ACTIVATING";
                case GameSessionStatus.Active: return "ACTIVE";
                case GameSessionStatus.Terminating: return "TERMINATING";
                case GameSessionStatus.Terminated: return "TERMINATED";
            }
            return "unknown";
        }

        /// <summary>Returns the value with a spelling.</summary>
        public static GameSessionStatus Parse(string text)
        {
            switch (text)
            {
                case "ACTIVATING": return GameSessionStatus.Activating;
                case "ACTIVE": return GameSessionStatus.Active;
                case "TERMINATING": return GameSessionStatus.Terminating;
                case "TERMINATED": return GameSessionStatus.Terminated;
            }
            return GameSessionStatus.Unknown;
        }
    }

    /// <summary>Games that can be joined.</summary>
    public sealed class GameSessions
    {
        /// <summary>At most as many as asked.</summary>
        public List<GameSession> Items { get; set; } = new List<GameSession>();

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static GameSessions FromJson(JsonValue json)
        {
            return new GameSessions
            {
                Items = json["items"].List(v => v.IsNull ? null : GameSession.FromJson(v)),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Items != null) json.Set("items", JsonValue.Of(Items, v => v.ToJson()));
            return json;
        }
    }

    /// <summary>A request to join a game session.</summary>
    public sealed class JoinRequest
    {
        /// <summary>For the game server; at most 2048 characters.</summary>
        public string PlayerData { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static JoinRequest FromJson(JsonValue json)
        {
            return new JoinRequest
            {
                PlayerData = json["player_data"].Text(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (PlayerData != null) json.Set("player_data", JsonValue.Of(PlayerData));
            return json;
        }
    }

    /// <summary>A place in a game.</summary>
    public sealed class Reservation
    {
        /// <summary>Where to play.</summary>
        public Connection Connection { get; set; }

        /// <summary>Whether the player came already.</summary>
        public ReservationStatus Status { get; set; }

        /// <summary>When the place is given up.</summary>
        public DateTime? ReservedUntil { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static Reservation FromJson(JsonValue json)
        {
            return new Reservation
            {
                Connection = json["connection"].IsNull ? null : Connection.FromJson(json["connection"]),
                Status = ReservationStatusText.Parse(json["status"].Text()),
                ReservedUntil = json["reserved_until"].TimeOrNull(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Connection != null) json.Set("connection", Connection.ToJson());
            json.Set("status", JsonValue.Of(ReservationStatusText.Of(Status)));
            if (ReservedUntil.HasValue) json.Set("reserved_until", JsonValue.Of(ReservedUntil.Value));
            return json;
        }
    }

    /// <summary>Whether the player came already.</summary>
    public enum ReservationStatus
    {
        /// <summary>A value that this release of the library does not know.</summary>
        Unknown,
        /// <summary>RESERVED.</summary>
        Reserved,
        /// <summary>ACTIVE.</summary>
        Active,
    }

    /// <summary>The spelling of ReservationStatus.</summary>
    public static class ReservationStatusText
    {
        /// <summary>Returns the spelling of a value.</summary>
        public static string Of(ReservationStatus value)
        {
            switch (value)
            {
                case ReservationStatus.Reserved: return "RESERVED";
                case ReservationStatus.Active: return "ACTIVE";
            }
            return "unknown";
        }

        /// <summary>Returns the value with a spelling.</summary>
        public static ReservationStatus Parse(string text)
        {
            switch (text)
            {
                case "RESERVED": return ReservationStatus.Reserved;
                case "ACTIVE": return ReservationStatus.Active;
            }
            return ReservationStatus.Unknown;
        }
    }

    /// <summary>Games to come back to.</summary>
    public sealed class Reservations
    {
        /// <summary>The newest first.</summary>
        public List<Reservation> Items { get; set; } = new List<Reservation>();

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static Reservations FromJson(JsonValue json)
        {
            return new Reservations
            {
                Items = json["items"].List(v => v.IsNull ? null : Reservation.FromJson(v)),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Items != null) json.Set("items", JsonValue.Of(Items, v => v.ToJson()));
            return json;
        }
    }

    /// <summary>Keeps a player out.</summary>
    public sealed class BanRequest
    {
        /// <summary>A time that has passed lifts the ban.</summary>
        public DateTime Until { get; set; }

        /// <summary>For other operators; at most 1000 bytes.</summary>
        public string Reason { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static BanRequest FromJson(JsonValue json)
        {
            return new BanRequest
            {
                Until = json["until"].Time(),
                Reason = json["reason"].Text(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            json.Set("until", JsonValue.Of(Until));
            if (Reason != null) json.Set("reason", JsonValue.Of(Reason));
            return json;
        }
    }

    /// <summary>A text frame of the WebSocket, either way.</summary>
    public sealed class Message
    {
        /// <summary>What it is.</summary>
        public string Type { get; set; }

        /// <summary>Client: to know the answer by.</summary>
        public string Id { get; set; }

        /// <summary>Server: the id that this answers.</summary>
        public string Re { get; set; }

        /// <summary>Server: give it to auth as resume to go on from here.</summary>
        public string Cursor { get; set; }

        /// <summary>Depends on the type.</summary>
        public JsonValue Data { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static Message FromJson(JsonValue json)
        {
            return new Message
            {
                Type = json["type"].Text(),
                Id = json["id"].Text(),
                Re = json["re"].Text(),
                Cursor = json["cursor"].Text(),
                Data = json["data"],
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (Type != null) json.Set("type", JsonValue.Of(Type));
            if (Id != null) json.Set("id", JsonValue.Of(Id));
            if (Re != null) json.Set("re", JsonValue.Of(Re));
            if (Cursor != null) json.Set("cursor", JsonValue.Of(Cursor));
            if (Data != null) json.Set("data", Data);
            return json;
        }
    }

    /// <summary>Data of the message auth.</summary>
    public sealed class SocketAuth
    {
        /// <summary>Of the player.</summary>
        public string AccessToken { get; set; }

        /// <summary>The last cursor, to be sent what changed since.</summary>
        public string Resume { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static SocketAuth FromJson(JsonValue json)
        {
            return new SocketAuth
            {
                AccessToken = json["access_token"].Text(),
                Resume = json["resume"].Text(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (AccessToken != null) json.Set("access_token", JsonValue.Of(AccessToken));
            if (Resume != null) json.Set("resume", JsonValue.Of(Resume));
            return json;
        }
    }

    /// <summary>Data of the message auth.ok.</summary>
    public sealed class SocketReady
    {
        /// <summary>The player.</summary>
        public string PlayerId { get; set; }

        /// <summary>When the access token ends; send auth again before.</summary>
        public DateTime ExpiresAt { get; set; }

        /// <summary>What follows is what changed since; else: what is under way.</summary>
        public bool Resumed { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static SocketReady FromJson(JsonValue json)
        {
            return new SocketReady
            {
                PlayerId = json["player_id"].Text(),
                ExpiresAt = json["expires_at"].Time(),
                Resumed = json["resumed"].Bool(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (PlayerId != null) json.Set("player_id", JsonValue.Of(PlayerId));
            json.Set("expires_at", JsonValue.Of(ExpiresAt));
            json.Set("resumed", JsonValue.Of(Resumed));
            return json;
        }
    }

    /// <summary>Data of the message token.expiring.</summary>
    public sealed class SocketExpiring
    {
        /// <summary>How long the access token is still valid.</summary>
        public long InSeconds { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static SocketExpiring FromJson(JsonValue json)
        {
            return new SocketExpiring
            {
                InSeconds = json["in_seconds"].Long(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            json.Set("in_seconds", JsonValue.Of(InSeconds));
            return json;
        }
    }

    /// <summary>Data of match.cancel and match.accept.</summary>
    public sealed class SocketTicketID
    {
        /// <summary>The ticket.</summary>
        public string TicketId { get; set; }

        /// <summary>For match.accept.</summary>
        public bool? Accept { get; set; }

        /// <summary>Reads it from JSON. Members that are not known are ignored.</summary>
        public static SocketTicketID FromJson(JsonValue json)
        {
            return new SocketTicketID
            {
                TicketId = json["ticket_id"].Text(),
                Accept = json["accept"].BoolOrNull(),
            };
        }

        /// <summary>Writes it as JSON. Members that are null are left out.</summary>
        public JsonValue ToJson()
        {
            var json = JsonValue.Object();
            if (TicketId != null) json.Set("ticket_id", JsonValue.Of(TicketId));
            if (Accept.HasValue) json.Set("accept", JsonValue.Of(Accept.Value));
            return json;
        }
    }

    /// <summary>The requests of the player API, as they are described. MusterClient makes them with the player's login; its own methods do more.</summary>
    public sealed partial class PlayerApi
    {
        /// <summary>Answers without content, for measuring latency.</summary>
        public Task PingAsync(CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("GET", "/player/v1/ping", ApiAccess.Open, true);
            return caller.SendAsync(request, cancel);
        }

        /// <summary>What a client has to know.</summary>
        public Task<ClientConfig> ConfigAsync(CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("GET", "/player/v1/config", ApiAccess.Open, true);
            return caller.SendAsync(request, ClientConfig.FromJson, cancel);
        }

        /// <summary>Where games can be, and how to measure the way.</summary>
        public Task<Locations> LocationsAsync(CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("GET", "/player/v1/locations", ApiAccess.Open, true);
            return caller.SendAsync(request, Locations.FromJson, cancel);
        }

        /// <summary>Make a guest account.</summary>
        public Task<Session> CreateGuestAsync(CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("POST", "/player/v1/auth/guest", ApiAccess.Open, false);
            return caller.SendAsync(request, Session.FromJson, cancel);
        }

        /// <summary>Log a guest in.</summary>
        public Task<Session> LoginGuestAsync(GuestLogin body, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("POST", "/player/v1/auth/guest/login", ApiAccess.Open, false);
            request.Body = body.ToJson();
            return caller.SendAsync(request, Session.FromJson, cancel);
        }

        /// <summary>Use up a refresh token for new tokens.</summary>
        public Task<Session> RefreshAsync(RefreshRequest body, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("POST", "/player/v1/auth/refresh", ApiAccess.Open, false);
            request.Body = body.ToJson();
            return caller.SendAsync(request, Session.FromJson, cancel);
        }

        /// <summary>End logins.</summary>
        public Task LogoutAsync(LogoutRequest body, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("POST", "/player/v1/auth/logout", ApiAccess.Open, false);
            request.Body = body.ToJson();
            return caller.SendAsync(request, cancel);
        }

        /// <summary>Get a ticket for a WebSocket that cannot send headers.</summary>
        public Task<SocketTicket> SocketTicketAsync(CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("POST", "/player/v1/auth/ws-ticket", ApiAccess.Player, false);
            return caller.SendAsync(request, SocketTicket.FromJson, cancel);
        }

        /// <summary>Log in with an account elsewhere.</summary>
        public Task<Session> LoginProviderAsync(string provider, ProviderLogin body, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("POST", "/player/v1/auth/" + ApiRequest.Escape(provider), ApiAccess.Open, false);
            request.Body = body.ToJson();
            return caller.SendAsync(request, Session.FromJson, cancel);
        }

        /// <summary>The own account.</summary>
        public Task<Player> MeAsync(CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("GET", "/player/v1/players/me", ApiAccess.Player, true);
            return caller.SendAsync(request, Player.FromJson, cancel);
        }

        /// <summary>Change the own account.</summary>
        public Task<Player> ChangeMeAsync(PlayerChange body, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("PATCH", "/player/v1/players/me", ApiAccess.Player, false);
            request.Body = body.ToJson();
            return caller.SendAsync(request, Player.FromJson, cancel);
        }

        /// <summary>Delete the own account with all its data.</summary>
        public Task DeleteMeAsync(CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("DELETE", "/player/v1/players/me", ApiAccess.Player, true);
            return caller.SendAsync(request, cancel);
        }

        /// <summary>Link an account elsewhere; 409 with a conflict_token where it leads to another player.</summary>
        public Task<Session> LinkAsync(string provider, ProviderLogin body, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("PUT", "/player/v1/players/me/identities/" + ApiRequest.Escape(provider), ApiAccess.Player, true);
            request.Body = body.ToJson();
            return caller.SendAsync(request, Session.FromJson, cancel);
        }

        /// <summary>Unlink an account elsewhere.</summary>
        public Task UnlinkAsync(string provider, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("DELETE", "/player/v1/players/me/identities/" + ApiRequest.Escape(provider), ApiAccess.Player, true);
            return caller.SendAsync(request, cancel);
        }

        /// <summary>Make one player of two, with the conflict_token of a refused link; a login of who is kept.</summary>
        public Task<Session> MergeAsync(MergeRequest body, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("POST", "/player/v1/players/me/merge", ApiAccess.Player, false);
            request.Body = body.ToJson();
            return caller.SendAsync(request, Session.FromJson, cancel);
        }

        /// <summary>All data of a namespace: private, public or server.</summary>
        public Task<DataItems> AllDataAsync(string @namespace, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("GET", "/player/v1/players/me/data/" + ApiRequest.Escape(@namespace), ApiAccess.Player, true);
            return caller.SendAsync(request, DataItems.FromJson, cancel);
        }

        /// <summary>A value.</summary>
        public Task<ApiAnswer> GetDataAsync(string @namespace, string key, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("GET", "/player/v1/players/me/data/" + ApiRequest.Escape(@namespace) + "/" + ApiRequest.Escape(key), ApiAccess.Player, true);
            return caller.SendAsync(request, cancel);
        }

        /// <summary>Write a value; 201 where it is new.</summary>
        public Task<DataItem> PutDataAsync(string @namespace, string key, JsonValue body, string ifMatch = null, string ifNoneMatch = null, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("PUT", "/player/v1/players/me/data/" + ApiRequest.Escape(@namespace) + "/" + ApiRequest.Escape(key), ApiAccess.Player, true);
            request.Header("If-Match", ifMatch);
            request.Header("If-None-Match", ifNoneMatch);
            request.Body = body;
            return caller.SendAsync(request, DataItem.FromJson, cancel);
        }

        /// <summary>Delete a value.</summary>
        public Task DeleteDataAsync(string @namespace, string key, string ifMatch = null, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("DELETE", "/player/v1/players/me/data/" + ApiRequest.Escape(@namespace) + "/" + ApiRequest.Escape(key), ApiAccess.Player, true);
            request.Header("If-Match", ifMatch);
            return caller.SendAsync(request, cancel);
        }

        /// <summary>Report what was measured.</summary>
        public Task<LatencyResult> ReportLatencyAsync(LatencyReport body, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("PUT", "/player/v1/players/me/latency", ApiAccess.Player, true);
            request.Body = body.ToJson();
            return caller.SendAsync(request, LatencyResult.FromJson, cancel);
        }

        /// <summary>Games to come back to after a crash.</summary>
        public Task<Reservations> ReservationsAsync(CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("GET", "/player/v1/players/me/reservations", ApiAccess.Player, true);
            return caller.SendAsync(request, Reservations.FromJson, cancel);
        }

        /// <summary>What anybody may know of a player.</summary>
        public Task<PublicPlayer> PublicPlayerAsync(string player, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("GET", "/player/v1/players/" + ApiRequest.Escape(player), ApiAccess.Player, true);
            return caller.SendAsync(request, PublicPlayer.FromJson, cancel);
        }

        /// <summary>What anybody may know of several players.</summary>
        public Task<PublicPlayers> LookUpPlayersAsync(PlayerLookup body, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("POST", "/player/v1/players/lookup", ApiAccess.Player, false);
            request.Body = body.ToJson();
            return caller.SendAsync(request, PublicPlayers.FromJson, cancel);
        }

        /// <summary>Ask to be matched.</summary>
        public Task<Ticket> StartMatchmakingAsync(TicketRequest body, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("POST", "/player/v1/matchmaking/tickets", ApiAccess.Player, false);
            request.Body = body.ToJson();
            return caller.SendAsync(request, Ticket.FromJson, cancel);
        }

        /// <summary>The own tickets.</summary>
        public Task<Tickets> TicketsAsync(string active = null, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("GET", "/player/v1/matchmaking/tickets", ApiAccess.Player, true);
            request.Query("active", active);
            return caller.SendAsync(request, Tickets.FromJson, cancel);
        }

        /// <summary>A ticket; 304 where nothing changed; null where nothing changed.</summary>
        public Task<Ticket> GetTicketAsync(string ticket, string wait = null, string ifNoneMatch = null, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("GET", "/player/v1/matchmaking/tickets/" + ApiRequest.Escape(ticket), ApiAccess.Player, true);
            request.Query("wait", wait);
            request.Header("If-None-Match", ifNoneMatch);
            return caller.SendAsync(request, Ticket.FromJson, cancel);
        }

        /// <summary>Ask for a ticket to be cancelled.</summary>
        public Task<Ticket> StopMatchmakingAsync(string ticket, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("DELETE", "/player/v1/matchmaking/tickets/" + ApiRequest.Escape(ticket), ApiAccess.Player, true);
            return caller.SendAsync(request, Ticket.FromJson, cancel);
        }

        /// <summary>Answer a proposed match.</summary>
        public Task<Ticket> AcceptMatchAsync(string ticket, AcceptRequest body, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("POST", "/player/v1/matchmaking/tickets/" + ApiRequest.Escape(ticket) + "/acceptance", ApiAccess.Player, false);
            request.Body = body.ToJson();
            return caller.SendAsync(request, Ticket.FromJson, cancel);
        }

        /// <summary>Make a party.</summary>
        public Task<Party> CreatePartyAsync(PartyRequest body, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("POST", "/player/v1/parties", ApiAccess.Player, false);
            request.Body = body.ToJson();
            return caller.SendAsync(request, Party.FromJson, cancel);
        }

        /// <summary>Join a party by its code.</summary>
        public Task<Party> JoinPartyAsync(PartyJoin body, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("POST", "/player/v1/parties/join", ApiAccess.Player, false);
            request.Body = body.ToJson();
            return caller.SendAsync(request, Party.FromJson, cancel);
        }

        /// <summary>A party one is in.</summary>
        public Task<Party> GetPartyAsync(string party, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("GET", "/player/v1/parties/" + ApiRequest.Escape(party), ApiAccess.Player, true);
            return caller.SendAsync(request, Party.FromJson, cancel);
        }

        /// <summary>Say that one is ready, or not.</summary>
        public Task<Party> ChangeMemberAsync(string party, MemberChange body, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("PUT", "/player/v1/parties/" + ApiRequest.Escape(party) + "/members/me", ApiAccess.Player, true);
            request.Body = body.ToJson();
            return caller.SendAsync(request, Party.FromJson, cancel);
        }

        /// <summary>Leave (me), or put somebody out, as the leader.</summary>
        public Task LeavePartyAsync(string party, string player, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("DELETE", "/player/v1/parties/" + ApiRequest.Escape(party) + "/members/" + ApiRequest.Escape(player), ApiAccess.Player, true);
            return caller.SendAsync(request, cancel);
        }

        /// <summary>Games of a pool that can be joined.</summary>
        public Task<GameSessions> ListSessionsAsync(string pool = null, string limit = null, string location = null, string filter = null, string sort = null, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("GET", "/player/v1/sessions", ApiAccess.Player, true);
            request.Query("pool", pool);
            request.Query("limit", limit);
            request.Query("location", location);
            request.Query("filter", filter);
            request.Query("sort", sort);
            return caller.SendAsync(request, GameSessions.FromJson, cancel);
        }

        /// <summary>Ask for a new game session.</summary>
        public Task<Placement> CreateSessionAsync(SessionRequest body, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("POST", "/player/v1/sessions", ApiAccess.Player, false);
            request.Body = body.ToJson();
            return caller.SendAsync(request, Placement.FromJson, cancel);
        }

        /// <summary>A game one has a place in, or had one until a few minutes ago.</summary>
        public Task<GameSession> GetSessionAsync(string session, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("GET", "/player/v1/sessions/" + ApiRequest.Escape(session), ApiAccess.Player, true);
            return caller.SendAsync(request, GameSession.FromJson, cancel);
        }

        /// <summary>Take a place in a game.</summary>
        public Task<Reservation> JoinSessionAsync(string session, JoinRequest body, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("POST", "/player/v1/sessions/" + ApiRequest.Escape(session) + "/players", ApiAccess.Player, false);
            request.Body = body.ToJson();
            return caller.SendAsync(request, Reservation.FromJson, cancel);
        }

        /// <summary>A game session on its way; 304 where nothing changed; null where nothing changed.</summary>
        public Task<Placement> GetPlacementAsync(string placement, string wait = null, string ifNoneMatch = null, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("GET", "/player/v1/placements/" + ApiRequest.Escape(placement), ApiAccess.Player, true);
            request.Query("wait", wait);
            request.Header("If-None-Match", ifNoneMatch);
            return caller.SendAsync(request, Placement.FromJson, cancel);
        }

        /// <summary>Give it up.</summary>
        public Task<Placement> StopPlacementAsync(string placement, CancellationToken cancel = default(CancellationToken))
        {
            var request = new ApiRequest("DELETE", "/player/v1/placements/" + ApiRequest.Escape(placement), ApiAccess.Player, true);
            return caller.SendAsync(request, Placement.FromJson, cancel);
        }
    }

    /// <summary>The types of the messages of the push.</summary>
    internal static class PushMessage
    {
        internal const string Subprotocol = "muster.player.v1";
        /// <summary>Logs in. The first message, and again with a new token of the same player before the old one expires.</summary>
        internal const string Auth = "auth";
        /// <summary>The player is logged in. The first one has no re: it answers the login, however the client logged in.</summary>
        internal const string AuthOk = "auth.ok";
        /// <summary>Is answered by pong with the same data, after all that had to be sent before.</summary>
        internal const string Ping = "ping";
        /// <summary>Answers a ping.</summary>
        internal const string Pong = "pong";
        /// <summary>Requests a match. Is answered by match.ticket, or by error: ticket-active (the player is on another ticket), attribute-rejected, party-not-ready, not-leader, not-found (no such matchmaker), rate-limited.</summary>
        internal const string MatchStart = "match.start";
        /// <summary>Cancels a ticket. Is answered by match.ticket, or by error: not-found, ticket-ended.</summary>
        internal const string MatchCancel = "match.cancel";
        /// <summary>Accepts a proposed match; without accept, or with false, rejects it. Is answered by match.ticket, or by error: not-found, not-awaiting-acceptance.</summary>
        internal const string MatchAccept = "match.accept";
        /// <summary>A ticket as it is now: with each change, and as an answer. Once it is completed, connection says where to play.</summary>
        internal const string MatchTicket = "match.ticket";
        /// <summary>The player's party as it is now.</summary>
        internal const string Party = "party";
        /// <summary>The player is no longer in a party.</summary>
        internal const string PartyLeft = "party.left";
        /// <summary>A game session that the player requested, as it is now.</summary>
        internal const string Placement = "placement";
        /// <summary>The access token expires soon: refresh it, and send auth with the new one.</summary>
        internal const string TokenExpiring = "token.expiring";
        /// <summary>Why a message was refused. re is absent if its id could not be read.</summary>
        internal const string Error = "error";
    }
}
