using System;
using System.IO;
using System.Threading.Tasks;

namespace Muster
{
    /// <summary>
    /// Keeps a player's login across restarts of the game, as a text that only the game may
    /// read. Calls are not concurrent.
    /// </summary>
    public interface ITokenStore
    {
        /// <summary>Returns the text saved last; null if there is none.</summary>
        Task<string> LoadAsync();

        /// <summary>Saves a text. A login that is not saved is lost with the game's process.</summary>
        Task SaveAsync(string text);
    }

    /// <summary>Keeps a login in memory.</summary>
    public sealed class MemoryTokenStore : ITokenStore
    {
        private string text;

        /// <summary>Implements ITokenStore.</summary>
        public Task<string> LoadAsync() { return Task.FromResult(text); }

        /// <summary>Implements ITokenStore.</summary>
        public Task SaveAsync(string text)
        {
            this.text = text;
            return Task.FromResult(true);
        }
    }

    /// <summary>Keeps a login in a file, which is replaced as a whole.</summary>
    public sealed class FileTokenStore : ITokenStore
    {
        private readonly string path;

        /// <summary>Keeps the login in the file at path, whose folder must exist.</summary>
        public FileTokenStore(string path) { this.path = path; }

        /// <summary>Implements ITokenStore.</summary>
        public Task<string> LoadAsync()
        {
            return Task.FromResult(File.Exists(path) ? File.ReadAllText(path) : null);
        }

        /// <summary>Implements ITokenStore.</summary>
        public Task SaveAsync(string text)
        {
            var next = path + ".new";
            using (var file = new FileStream(next, FileMode.Create, FileAccess.Write))
            using (var writer = new StreamWriter(file))
            {
                writer.Write(text);
                writer.Flush();
                file.Flush(true);
            }
            if (File.Exists(path)) File.Replace(next, path, null);
            else File.Move(next, path);
            return Task.FromResult(true);
        }
    }

    // Login is what a token store keeps.
    internal sealed class Login
    {
        internal string PlayerId, Scope, Access, Refresh, GuestSecret;
        internal DateTime AccessExpires, RenewAt;

        internal static Login Parse(string text)
        {
            if (string.IsNullOrEmpty(text)) return new Login();
            JsonValue json;
            try
            {
                json = JsonValue.Parse(text);
            }
            catch (FormatException e)
            {
                throw new MusterException("the stored login is damaged; clear the token store to begin anew", e);
            }
            return new Login
            {
                PlayerId = json["player_id"].Text(), Scope = json["scope"].Text(), Access = json["access_token"].Text(), Refresh = json["refresh_token"].Text(),
                GuestSecret = json["guest_secret"].Text(), AccessExpires = json["access_expires"].Time(), RenewAt = json["renew_at"].Time(),
            };
        }

        public override string ToString()
        {
            return JsonValue.Object().Set("player_id", JsonValue.Of(PlayerId)).Set("scope", JsonValue.Of(Scope)).Set("access_token", JsonValue.Of(Access))
                .Set("refresh_token", JsonValue.Of(Refresh)).Set("guest_secret", JsonValue.Of(GuestSecret))
                .Set("access_expires", JsonValue.Of(AccessExpires)).Set("renew_at", JsonValue.Of(RenewAt)).ToString();
        }

        // RenewAfter is the share of an access token's life after which it is renewed.
        private const double RenewAfter = 0.8;

        internal static Login Of(Session session, Login before, DateTime now)
        {
            var secret = session.GuestSecret;
            if (secret == null && before.PlayerId == session.PlayerId) secret = before.GuestSecret;
            return new Login
            {
                PlayerId = session.PlayerId, Scope = SessionScopeText.Of(session.Scope), Access = session.AccessToken, Refresh = session.RefreshToken, GuestSecret = secret,
                AccessExpires = now.AddSeconds(session.AccessTokenExpiresIn), RenewAt = now.AddSeconds(session.AccessTokenExpiresIn * RenewAfter),
            };
        }

        internal bool IsUsable(string stale, DateTime now) { return Access != null && Access != stale && now < RenewAt; }
    }
}
