import type { Worker } from '@gatehouse/kit'
import type { AdmissionDecision } from '../admission/admission.ts'
import type { Channel } from '../model/channel.ts'

/** Tells those workers that have something to do now, so that they need not wait. Hints, never promises: all of them poll. */
export interface Hints {
  /** Deliveries of these may have been queued. */
  onAdmitted(decided: readonly AdmissionDecision[]): void
  /** Something is to be planned again now: a fallback, a replay. */
  onDeferred(): void
  /** Something scheduled is due now. */
  onDue(): void
  /** States have changed. */
  onChanged(): void
}

/** Hints to the workers in a list that may still grow. */
export function createHints(workers: readonly Worker[]): Hints {
  const hint = (...names: readonly string[]) => {
    for (const worker of workers) if (names.includes(worker.name)) worker.resume()
  }
  return {
    onAdmitted(decided) {
      const queued = new Set<Channel>()
      for (const { deliveries } of decided)
        for (const { channel, outcome } of deliveries) if (outcome === 'queued') queued.add(channel)
      if (queued.size > 0) hint(...[...queued].map((channel) => `deliver ${channel}`))
    },
    onDeferred: () => hint('resume'),
    onDue: () => hint('schedule'),
    onChanged: () => hint('outbox'),
  }
}
