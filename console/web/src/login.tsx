// Logging in with an account of the identity provider, if there is one, or an access key.

import { useEffect, useState } from "preact/hooks";
import { leave, logIn, ways, type Ways } from "./core/api";
import { Glyph } from "./ui/glyph";
import { Icon } from "./ui/icon";

/** The page of those who are not logged in. */
export function Login() {
  const [key, setKey] = useState("");
  const [secret, setSecret] = useState("");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const [how, setHow] = useState<Ways>({});
  useEffect(() => {
    ways()
      .then((w) => {
        setHow(w);
        setProblem(w.problem ?? "");
      })
      .catch(() => undefined); // a key is always asked for
  }, []);
  const attempt = async (f: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setProblem("");
    try {
      await f();
    } catch (failure) {
      setProblem((failure as Error).message);
      setBusy(false);
    }
  };
  const submit = (e: Event): void => {
    e.preventDefault();
    void attempt(() => logIn(key.trim(), secret.trim()));
  };
  const alert = problem && (
    <div class="alert b-fail" role="alert">
      <Glyph tone="fail" />
      <span>{problem}</span>
    </div>
  );
  return (
    <main class="login">
      <form onSubmit={submit} aria-label="Log in">
        <h1 class="brand">
          <Icon name="logo" size={24} />
          <span>Muster</span>
        </h1>
        {how.provider && (
          <>
            {alert}
            <button type="button" class="btn first" disabled={busy} onClick={() => void attempt(leave)}>Log in with {how.provider.name}</button>
          </>
        )}
        <p class="soft">{how.provider ? "Or log" : "Log"} in with an access key of this server. What you may see and do is what the key may.</p>
        <label class="field">
          <span>Access key id</span>
          <input class="input mono" autocomplete="username" spellcheck={false} required value={key} onInput={(e) => setKey(e.currentTarget.value)} autofocus />
        </label>
        <label class="field">
          <span>Secret access key</span>
          <input class="input mono" type="password" autocomplete="current-password" required value={secret} onInput={(e) => setSecret(e.currentTarget.value)} />
        </label>
        {!how.provider && alert}
        <button type="submit" class={how.provider ? "btn" : "btn first"} disabled={busy}>Log in</button>
        <p class="dim">
          The first key is in the file <code>admin-credentials</code> of the server's data folder; <code>muster admin keys create</code> makes more.
        </p>
      </form>
    </main>
  );
}
