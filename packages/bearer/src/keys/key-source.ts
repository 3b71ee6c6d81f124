import type { Jwk } from './key-set.ts'

/** The issuer's keys as read at one time. */
export interface KeyReading {
  /** Undefined: nothing changed since the last reading. */
  readonly keys: readonly unknown[] | undefined
  /** How long they may be used without asking again. */
  readonly maxAgeMs: number
}

/** Where keys are read from. Rejects when they cannot be; never keeps anybody waiting forever. */
export interface KeySource {
  read(): Promise<KeyReading>
  /** Shortest time between two readings that unknown key ids may cause. */
  readonly unknownKidIntervalMs: number
  /** How long an unknown key id is not looked for again. */
  readonly unknownKidMs: number
}

const inProcessMaxAgeMs = 60_000
const inProcessUnknownKidIntervalMs = 100
const inProcessUnknownKidMs = 1_000

/** Keys handed over in the same process: asking again is cheap, so rotations are seen soon. */
export function inProcessKeys(keys: () => readonly Jwk[] | Promise<readonly Jwk[]>): KeySource {
  return {
    unknownKidIntervalMs: inProcessUnknownKidIntervalMs,
    unknownKidMs: inProcessUnknownKidMs,
    read: async () => ({ keys: await keys(), maxAgeMs: inProcessMaxAgeMs }),
  }
}
