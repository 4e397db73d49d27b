// Edits that were not applied yet.

/** Returns the edit of a rule set that was not applied yet. */
export const remembered = (name: string): string | null => {
  try {
    return sessionStorage.getItem(`rules ${name}`);
  } catch {
    return null;
  }
};

/** Keeps the edit of a rule set while the browser's tab is open; null forgets it. */
export function remember(name: string, text: string | null): void {
  try {
    if (text === null) sessionStorage.removeItem(`rules ${name}`);
    else sessionStorage.setItem(`rules ${name}`, text);
  } catch {
    // without storage the edit lasts as long as the page
  }
}
