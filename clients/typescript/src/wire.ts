/**
 * How the members of a type are converted between JSON and TypeScript. A member that is not
 * named is taken as it is; "*" stands for all members of a map, whose names are data.
 *
 * @internal
 */
export type Shape = "date" | { readonly [member: string]: Shape };

/** Converts a_name to aName. @internal */
export function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Converts aName to a_name. @internal */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => "_" + letter.toLowerCase());
}

/** Converts JSON of the API: names to camelCase, times to Date. @internal */
export function decode(shape: Shape | undefined, value: unknown): unknown {
  return convert(shape, value, (v) => (typeof v === "string" ? new Date(v) : v), (name) => [camelCase(name), camelCase(name)]);
}

/** Converts a value to JSON of the API; the reverse of {@link decode}. @internal */
export function encode(shape: Shape | undefined, value: unknown): unknown {
  return convert(shape, value, (v) => (v instanceof Date ? v.toISOString() : v), (name) => [snakeCase(name), name]);
}

function convert(
  shape: Shape | undefined,
  value: unknown,
  date: (v: unknown) => unknown,
  names: (name: string) => [out: string, member: string],
): unknown {
  if (shape === undefined || value === null || value === undefined) {
    return value;
  }
  if (Array.isArray(value)) {
    return value.map((v) => convert(shape, v, date, names));
  }
  if (shape === "date") {
    return date(value);
  }
  if (typeof value !== "object") {
    return value;
  }
  const each = shape["*"];
  // Object.fromEntries defines members, so a member __proto__ stays a member.
  return Object.fromEntries(
    Object.entries(value).map(([name, v]) => {
      if (each !== undefined) {
        return [name, convert(each, v, date, names)];
      }
      const [out, member] = names(name);
      return [out, convert(Object.hasOwn(shape, member) ? shape[member] : undefined, v, date, names)];
    }),
  );
}
