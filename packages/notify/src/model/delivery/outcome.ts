/** What may become of one channel of an accepted event. */
export const outcomes = [
  'queued',
  'duplicate',
  'capped',
  'deferred',
  'aggregated',
  'no_recipient',
  'undeliverable',
  'failed',
  'expired',
] as const

/** What became of one channel of an accepted event. */
export type Outcome = (typeof outcomes)[number]

/** Whether a timeline entry of this type says what became of a channel. */
export function isOutcome(what: string): what is Outcome {
  return outcomes.some((outcome) => outcome === what)
}
