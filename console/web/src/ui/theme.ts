// Colors for what is drawn on a canvas, which keeps them when the theme changes.

import { signal } from "@preact/signals";

/** Counts changes of the theme. */
export const themed = signal(0);
for (const q of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) matchMedia(q).addEventListener("change", () => themed.value++);

/** Reports whether people have chosen colors of their own for everything, so that colors tell nothing. */
export const forced = (): boolean => matchMedia("(forced-colors: active)").matches;

/** Returns the value of a token. */
export const token = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
