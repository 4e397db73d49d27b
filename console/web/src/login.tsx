// Logging in with an access key.

import { useState } from "preact/hooks";
import { logIn } from "./core/api";
import { Glyph } from "./ui/glyph";
import { Icon } from "./ui/icon";

/** The page of those who are not logged in. */
export function Login() {
  const [key, setKey] = useState("");
  const [secret, setSecret] = useState("");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (e: Event): Promise<void> => {
    e.preventDefault();
    setBusy(true);
    setProblem("");
    try {
      await logIn(key.trim(), secret.trim());
    } catch (failure) {
      setProblem((failure as Error).message);
      setBusy(false);
    }
  };
  return (
    <main class="login">
      <form onSubmit={(e) => void submit(e)} aria-label="Log in">
        <h1 class="brand">
          <Icon name="logo" size={24} />
          <span>Muster</span>
        </h1>
        <p class="soft">Log in with an access key of this server. What you may see and do is what the key may.</p>
        <label class="field">
          <span>Access key id</span>
          <input class="input mono" autocomplete="username" spellcheck={false} required value={key} onInput={(e) => setKey(e.currentTarget.value)} autofocus />
        </label>
        <label class="field">
          <span>Secret access key</span>
          <input class="input mono" type="password" autocomplete="current-password" required value={secret} onInput={(e) => setSecret(e.currentTarget.value)} />
        </label>
        {problem && (
          <div class="alert b-fail" role="alert">
            <Glyph tone="fail" />
            <span>{problem}</span>
          </div>
        )}
        <button type="submit" class="btn first" disabled={busy}>Log in</button>
        <p class="dim">
          The first key is in the file <code>admin-credentials</code> of the server's data folder; <code>muster keys create</code> makes more.
        </p>
      </form>
    </main>
  );
}
