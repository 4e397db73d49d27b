/**
 * Handlers by the name of their event.
 *
 * @internal
 */
export class Emitter<Events extends object> {
  readonly #handlers = new Map<keyof Events, Set<(data: never) => void>>();

  /** Adds a handler, and returns a function that removes it. */
  on<Name extends keyof Events>(name: Name, handler: (data: Events[Name]) => void): () => void {
    let all = this.#handlers.get(name);
    if (!all) {
      this.#handlers.set(name, (all = new Set()));
    }
    const own = (data: Events[Name]): void => handler(data); // so that one function can be added twice
    all.add(own);
    return () => void all.delete(own);
  }

  /** Calls the handlers. An error of one is reported as uncaught, and stops no other. */
  emit<Name extends keyof Events>(name: Name, data: Events[Name]): void {
    for (const handler of [...(this.#handlers.get(name) ?? [])]) {
      try {
        (handler as (data: Events[Name]) => void)(data);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
