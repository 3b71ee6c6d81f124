import type { Jwk } from './key-set.ts'

/** The result of one fetch of an issuer's keys. */
export interface KeyReading {
  /** Undefined when nothing changed since the last fetch. */
  readonly keys: readonly unknown[] | undefined
  /** Of the keys, for the next fetch. */
  readonly etag?: string | undefined
  /** How long they may be used before the next fetch. */
  readonly maxAgeMs: number
}

/** Where keys are fetched from. */
export interface KeySource {
  /** Fetches the keys, if they are no longer those of an ETag. Rejects when they cannot be fetched in time. */
  read(etag: string | undefined): Promise<KeyReading>
  /** The minimum time between two fetches caused by unknown key ids. */
  readonly unknownKidIntervalMs: number
  /** How long an unknown key id is not fetched again. */
  readonly unknownKidMs: number
}

const inProcessMaxAgeMs = 60_000
const inProcessUnknownKidIntervalMs = 100
const inProcessUnknownKidMs = 1_000

/** Keys of an issuer in the same process. Reading them again is cheap, so rotations are noticed soon. */
export function inProcessKeys(keys: () => readonly Jwk[] | Promise<readonly Jwk[]>): KeySource {
  return {
    unknownKidIntervalMs: inProcessUnknownKidIntervalMs,
    unknownKidMs: inProcessUnknownKidMs,
    read: async () => ({ keys: await keys(), maxAgeMs: inProcessMaxAgeMs }),
  }
}
