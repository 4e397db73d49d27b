#if UNITY_5_3_OR_NEWER
using System;
using System.Threading;
using System.Threading.Tasks;
using UnityEngine;

namespace Muster
{
    /// <summary>
    /// Keeps a login in PlayerPrefs. Other programs of the same user can read it there: where the
    /// platform has a safer place, such as a keychain, implement ITokenStore with that. Create it
    /// in the main thread.
    /// </summary>
    public sealed class PlayerPrefsTokenStore : ITokenStore
    {
        private readonly SynchronizationContext main = SynchronizationContext.Current;
        private readonly string key;

        /// <summary>Keeps the login under a key of PlayerPrefs.</summary>
        public PlayerPrefsTokenStore(string key = "muster.login") { this.key = key; }

        /// <summary>Implements ITokenStore.</summary>
        public Task<string> LoadAsync() { return InMain(() => PlayerPrefs.GetString(key, null)); }

        /// <summary>Implements ITokenStore.</summary>
        public Task SaveAsync(string text)
        {
            return InMain(() =>
            {
                PlayerPrefs.SetString(key, text);
                PlayerPrefs.Save();
                return text;
            });
        }

        // PlayerPrefs may be used in the main thread only.
        private Task<string> InMain(Func<string> use)
        {
            if (main == null || SynchronizationContext.Current == main) return Task.FromResult(use());
            var done = new TaskCompletionSource<string>();
            main.Post(_ =>
            {
                try
                {
                    done.SetResult(use());
                }
                catch (Exception e)
                {
                    done.SetException(e);
                }
            }, null);
            return done.Task;
        }
    }
}
#endif
