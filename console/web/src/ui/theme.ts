// Colors for what is drawn on a canvas, which keeps them when the theme changes.

import { signal } from "@preact/signals";

/** Counts changes of the theme. */
export const themed = signal(0);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => themed.value++);

/** Returns the value of a token. */
export const token = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
