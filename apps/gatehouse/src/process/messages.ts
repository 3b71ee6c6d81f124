import type { BannerOptions, Seeded } from './banner.ts'

/** What a worker and its supervisor ask one another for. */
export type Topic = 'metrics' | 'readiness'

/** A question and its answer, in both directions; an answer without content says that there is none. */
export type Exchange =
  | { readonly type: 'question'; readonly id: number; readonly topic: Topic }
  | { readonly type: 'answer'; readonly id: number; readonly content: unknown }

/** What the supervisor prints of a worker that listens. */
export type WorkerAbout = Omit<
  BannerOptions,
  | 'version'
  | 'baseUrl'
  | 'authUrl'
  | 'host'
  | 'port'
  | 'services'
  | 'milliseconds'
  | 'tour'
  | 'seeded'
  | 'developmentKey'
  | 'processes'
> & {
  /** Secrets are plain texts here: they travel to the supervisor alone. */
  readonly seeded: ReadonlyArray<Omit<Seeded, 'secret'> & { readonly secret?: string }>
}

/** What a worker sends to its supervisor. */
export type WorkerMessage =
  | Exchange
  /** Its process runs and waits for `start`. */
  | { readonly type: 'hello' }
  /** It listens. */
  | { readonly type: 'ready'; readonly about: WorkerAbout }
  /** It can't start, for a reason that its operator can fix, or that may pass by itself. */
  | { readonly type: 'refused'; readonly message: string; readonly isTemporary: boolean }
  /** Its event loop runs. */
  | { readonly type: 'alive' }
  /** Its metrics as they were when it had stopped. */
  | { readonly type: 'last-metrics'; readonly metrics: unknown }

/** What a supervisor sends to a worker. */
export type SupervisorMessage =
  | Exchange
  /** Its number, from 1; it stays that of a worker that takes its place. */
  | { readonly type: 'start'; readonly worker: number }
  | { readonly type: 'heartbeat' }
  /** Read the tiers and policies of the file again. */
  | { readonly type: 'reload' }
  /** Finish what is under way and exit. Kept-alive connections have `graceMs` to end by a response that closes them. */
  | { readonly type: 'stop'; readonly graceMs: number }

/** Exit codes of a worker (sysexits.h): wrong settings, and a server that was unavailable during the start. */
export const exitCodes = { settings: 78, unavailable: 75 } as const
