/** Environment variables, where the runtime has any: what a constructor is not given is looked up here. */

interface Host {
  process?: { env?: Record<string, string | undefined> };
  Deno?: { env: { get(name: string): string | undefined } };
}

/** The value of a variable; null where it is not set, or the runtime has none or does not allow it. */
export function variable(name: string): string | null {
  const host = globalThis as Host;
  try {
    return host.process?.env?.[name] ?? host.Deno?.env.get(name) ?? null;
  } catch {
    return null;
  }
}
