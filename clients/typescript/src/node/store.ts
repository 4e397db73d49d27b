import { randomUUID } from "node:crypto";
import { open, readFile, rename, rm } from "node:fs/promises";
import type { Tokens, TokenStore } from "../store.js";

/** Keeps a login in a file that only its owner can read. The folder must exist. */
export class FileTokenStore implements TokenStore {
  readonly #file: string;

  /** @param file - The path of the file; use another for each player. */
  constructor(file: string) {
    this.#file = file;
  }

  async load(): Promise<Tokens | undefined> {
    let text: string;
    try {
      text = await readFile(this.#file, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") {
        return undefined;
      }
      throw error;
    }
    return JSON.parse(text) as Tokens;
  }

  /** Replaces the file as a whole, so that a crash leaves the old login or the new one. */
  async save(tokens: Tokens): Promise<void> {
    const next = `${this.#file}.${randomUUID()}`;
    try {
      const file = await open(next, "wx", 0o600);
      try {
        await file.writeFile(JSON.stringify(tokens));
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(next, this.#file);
    } catch (error) {
      await rm(next, { force: true });
      throw error;
    }
  }

  async clear(): Promise<void> {
    await rm(this.#file, { force: true });
  }
}
