import type { Worker } from '@gatehouse/kit'
import type { AdmissionDecision } from '../admission/admission.ts'
import type { Channel } from '../model/channel.ts'

/** Tells those workers that have something to do now, so that they need not wait. Hints, never promises: all of them poll. */
export interface Hints {
  /** Deliveries of these may have been queued. */
  admitted(decided: readonly AdmissionDecision[]): void
  /** Something is to be planned again now: a fallback, a replay. */
  waiting(): void
  /** Something scheduled is due now. */
  due(): void
  /** States have changed. */
  changed(): void
}

/** Hints to the workers in a list that may still grow. */
export function hintsTo(workers: readonly Worker[]): Hints {
  const wake = (...names: readonly string[]) => {
    for (const worker of workers) if (names.includes(worker.name)) worker.wake()
  }
  return {
    admitted(decided) {
      const queued = new Set<Channel>()
      for (const { deliveries } of decided)
        for (const { channel, outcome } of deliveries) if (outcome === 'queued') queued.add(channel)
      if (queued.size > 0) wake(...[...queued].map((channel) => `deliver ${channel}`))
    },
    waiting: () => wake('wake'),
    due: () => wake('schedule'),
    changed: () => wake('outbox'),
  }
}
