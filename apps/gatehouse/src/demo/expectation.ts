import type { NotifyRequest } from '@gatehouse/client'

/** What the demo knows of its event types, read from the same file that configures the program. */
export interface DemoEventType {
  readonly critical: boolean
  readonly channels: readonly string[]
  readonly aggregated: boolean
  /** Whether there is a text for each of its channels. One without is given up before it is counted. */
  readonly written: boolean
}

/** The outcomes that the demo expects. */
export interface Expectation {
  /** Outcome by event (its index in the file) and channel. */
  readonly outcomes: ReadonlyArray<Readonly<Record<string, string>>>
}

/** The rules of the configuration that decide outcomes. */
export interface Rules {
  readonly eventTypes: Readonly<Record<string, DemoEventType>>
  /** Most notifications a user gets in a day, critical ones aside. */
  readonly cap: number
  /** Users in whose quiet hours the demo plays. */
  readonly quiet: ReadonlySet<string>
}

/**
 * What must become of each event on each channel, worked out from the file alone: a replay is a duplicate, what comes
 * over the cap is capped and does not burn its key, critical events pass both cap and quiet hours, what there is no
 * text for becomes a dead letter.
 */
export function expect(events: readonly NotifyRequest[], rules: Rules): Expectation {
  const seen = new Set<string>()
  const sentTo = new Map<string, number>()
  const outcomes = events.map((event) => {
    const type = rules.eventTypes[event.event]
    if (!type) throw new Error(`examples/demo.yaml does not declare ${event.event}`)
    const key = event.dedup_key && `${event.user_id} ${event.event} ${event.dedup_key}`
    const outcome = key && seen.has(key) ? 'duplicate' : fresh(event, type, rules, sentTo)
    if (key && outcome !== 'capped') seen.add(key)
    return Object.fromEntries((event.channels ?? type.channels).map((channel) => [channel, outcome]))
  })
  return { outcomes }
}

function fresh(event: NotifyRequest, type: DemoEventType, rules: Rules, sentTo: Map<string, number>): string {
  if (type.critical) return type.written ? 'queued' : 'failed'
  if (type.aggregated) return 'aggregated'
  if (rules.quiet.has(event.user_id)) return 'deferred'
  if (!type.written) return 'failed'
  const sent = sentTo.get(event.user_id) ?? 0
  if (sent >= rules.cap) return 'capped'
  sentTo.set(event.user_id, sent + 1)
  return 'queued'
}
