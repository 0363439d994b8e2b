/** Values of a config, which is a table of tables: read, set, and compared with another config. */
export type Config = Record<string, unknown>;

/** A value that two configs have otherwise; undefined where one has none. */
export interface ChangedValue {
  key: string;
  before: unknown;
  after: unknown;
}

/** Returns the value at a place of a config, undefined where there is none. */
export function valueAt(config: Config | null, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (table, key) => (table && typeof table === "object" ? (table as Config)[key] : undefined),
    config,
  );
}

/**
 * Returns a copy of a config with one value set. An empty text removes the value; a text that is no
 * whole number is left for the service to judge.
 */
export function withValue(config: Config, [key, ...rest]: readonly string[], text: string): Config {
  if (key === undefined) return config;
  if (rest.length)
    return { ...config, [key]: withValue((config[key] ?? {}) as Config, rest, text) };
  const plain = text.replaceAll(/[_ ]/g, "");
  const { [key]: _, ...others } = config;
  return plain === "" ? others : { ...config, [key]: /^\d+$/.test(plain) ? Number(plain) : text };
}

/** Returns what a config has otherwise than the one before, in its own order. */
export function changedValues(before: Config, after: Config): ChangedValue[] {
  const [was, now] = [new Map(leaves(before)), new Map(leaves(after))];
  const keys = [...now.keys(), ...[...was.keys()].filter((key) => !now.has(key))];
  return keys
    .map((key) => ({ key, before: was.get(key), after: now.get(key) }))
    .filter((one) => shownValue(one.before) !== shownValue(one.after));
}

/** Returns a value as it is shown, "–" for none. */
export function shownValue(value: unknown): string {
  return value === undefined || value === null ? "–" : JSON.stringify(value);
}

function leaves(table: Config, prefix = ""): [string, unknown][] {
  return Object.entries(table).flatMap(([name, value]) =>
    value !== null && typeof value === "object" && !Array.isArray(value)
      ? leaves(value as Config, `${prefix}${name}.`)
      : [[`${prefix}${name}`, value] as [string, unknown]],
  );
}
