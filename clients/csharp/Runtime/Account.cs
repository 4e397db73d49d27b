using System;
using System.Threading;
using System.Threading.Tasks;

namespace Muster
{
    // Account is the login that requests are made with, renewed in time. One login or renewal
    // is under way at a time; others wait for it.
    internal sealed class Account
    {
        private readonly PlayerApi api;
        private readonly ITokenStore store;
        private readonly Func<DateTime> now;
        private readonly SemaphoreSlim renewing = new SemaphoreSlim(1, 1);
        private readonly AsyncLocal<bool> entering = new AsyncLocal<bool>(); // this call holds renewing
        private volatile Login login = new Login();
        private readonly Action changed; // who is logged in
        private bool loaded;

        internal Account(PlayerApi api, ITokenStore store, Func<DateTime> now, Action changed)
        {
            this.changed = changed;
            this.api = api;
            this.store = store;
            this.now = now;
        }

        internal Login Current { get { return login; } }

        // ComeBackAsync logs in with what is stored, else as a new guest if create says so.
        internal async Task<Login> ComeBackAsync(bool create, CancellationToken cancel)
        {
            await renewing.WaitAsync(cancel).ConfigureAwait(false);
            try
            {
                await LoadAsync().ConfigureAwait(false);
                Login back = null;
                try
                {
                    back = await RenewAsync(cancel).ConfigureAwait(false);
                }
                catch (LoggedOutException) when (create)
                {
                }
                if (back != null) return back;
                if (!create) throw new LoggedOutException();
                return await KeepAsync(await api.CreateGuestAsync(cancel).ConfigureAwait(false)).ConfigureAwait(false);
            }
            finally
            {
                renewing.Release();
            }
        }

        // EnterAsync makes a request that answers with a login, and keeps that. No renewal may
        // run beside it, since one of the two answers would invalidate the other.
        internal async Task<Login> EnterAsync(Func<Task<Session>> request, CancellationToken cancel)
        {
            await renewing.WaitAsync(cancel).ConfigureAwait(false);
            try
            {
                entering.Value = true;
                await LoadAsync().ConfigureAwait(false);
                return await KeepAsync(await request().ConfigureAwait(false)).ConfigureAwait(false);
            }
            finally
            {
                renewing.Release();
            }
        }

        // ForgetAsync ends the login. The secret of a guest is kept, if keepGuest says so.
        internal async Task ForgetAsync(bool keepGuest, CancellationToken cancel)
        {
            await renewing.WaitAsync(cancel).ConfigureAwait(false);
            try
            {
                var old = login;
                await SaveAsync(keepGuest && old.GuestSecret != null ? new Login { PlayerId = old.PlayerId, GuestSecret = old.GuestSecret } : new Login()).ConfigureAwait(false);
            }
            finally
            {
                renewing.Release();
            }
        }

        // AccessAsync returns an access token that does not expire soon. stale is one that was
        // refused; it is not returned again.
        internal async Task<string> AccessAsync(string stale, CancellationToken cancel)
        {
            var held = login;
            if (held.IsUsable(stale, now())) return held.Access;
            if (entering.Value) return await AccessAloneAsync(stale, cancel).ConfigureAwait(false);
            await renewing.WaitAsync(cancel).ConfigureAwait(false);
            try
            {
                await LoadAsync().ConfigureAwait(false);
                return await AccessAloneAsync(stale, cancel).ConfigureAwait(false);
            }
            finally
            {
                renewing.Release();
            }
        }

        private async Task<string> AccessAloneAsync(string stale, CancellationToken cancel)
        {
            var held = login;
            if (held.IsUsable(stale, now())) return held.Access; // somebody else has renewed it
            try
            {
                var fresh = await RenewAsync(cancel).ConfigureAwait(false);
                if (fresh == null) throw new LoggedOutException();
                return fresh.Access;
            }
            catch (Exception e) when ((e is NetworkException || e is ProblemException && ((ProblemException)e).Status >= 429) && held.Access != null && held.Access != stale && now() < held.AccessExpires)
            {
                return held.Access; // it is still valid; the renewal can wait
            }
        }

        // RenewAsync uses the refresh token, or logs the guest in; null if there is neither.
        private async Task<Login> RenewAsync(CancellationToken cancel)
        {
            var held = login;
            if (held.Refresh != null)
            {
                try
                {
                    return await KeepAsync(await RefreshAsync(held.Refresh, cancel).ConfigureAwait(false)).ConfigureAwait(false);
                }
                catch (ProblemException e) when (e.Status == 401 && held.GuestSecret != null)
                {
                }
                catch (ProblemException e) when (e.Status == 401)
                {
                    await SaveAsync(new Login()).ConfigureAwait(false);
                    throw new LoggedOutException(e);
                }
            }
            if (held.GuestSecret == null) return null;
            var guest = new GuestLogin { PlayerId = held.PlayerId, GuestSecret = held.GuestSecret };
            return await KeepAsync(await api.LoginGuestAsync(guest, cancel).ConfigureAwait(false)).ConfigureAwait(false);
        }

        // RefreshAsync uses a refresh token. A lost answer is asked for again at once: for a short
        // time the server answers the same.
        private async Task<Session> RefreshAsync(string token, CancellationToken cancel)
        {
            var request = new RefreshRequest { RefreshToken = token };
            try
            {
                return await api.RefreshAsync(request, cancel).ConfigureAwait(false);
            }
            catch (NetworkException)
            {
            }
            return await api.RefreshAsync(request, cancel).ConfigureAwait(false);
        }

        private async Task LoadAsync()
        {
            if (loaded) return;
            login = Login.Parse(await store.LoadAsync().ConfigureAwait(false));
            loaded = true;
        }

        // A refresh token works once, so that its successor is saved before it is used.
        private async Task<Login> KeepAsync(Session session)
        {
            var next = Login.Of(session, login, now());
            await SaveAsync(next).ConfigureAwait(false);
            return next;
        }

        private async Task SaveAsync(Login next)
        {
            var before = login;
            login = next;
            await store.SaveAsync(next.ToString()).ConfigureAwait(false);
            if (before.PlayerId != next.PlayerId || (before.Access == null) != (next.Access == null)) changed();
        }
    }
}
