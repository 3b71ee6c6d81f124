import type { Jwk } from './key-set.ts'

/** The issuer's keys as read at one time. */
export interface JwksReading {
  /** Undefined: nothing changed since the last reading. */
  readonly keys: readonly unknown[] | undefined
  /** How long they may be used without asking again. */
  readonly maxAgeMs: number
}

/** Where keys are read from. Rejects when they cannot be; never keeps anybody waiting forever. */
export interface KeySource {
  read(): Promise<JwksReading>
  /** Shortest time between two readings that unknown key ids may cause, once the burst is used up. */
  readonly unknownKidIntervalMs: number
}

const inProcessMaxAgeMs = 60_000
const inProcessUnknownKidIntervalMs = 100

/** Keys handed over in the same process: asking again is cheap, so rotations are seen soon. */
export function inProcessKeys(keys: () => readonly Jwk[] | Promise<readonly Jwk[]>): KeySource {
  return {
    unknownKidIntervalMs: inProcessUnknownKidIntervalMs,
    read: async () => ({ keys: await keys(), maxAgeMs: inProcessMaxAgeMs }),
  }
}
