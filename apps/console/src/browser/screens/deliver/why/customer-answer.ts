import type { ExplainedChannel } from '../../../api/records.ts'
import type { Texts } from '../../../texts/en.ts'
import { wordOf } from '../word-of.ts'

/** What the answer for a customer is made of. */
export interface CustomerAnswerInput {
  readonly event: string
  /** The channels to answer for, each with what would happen; undefined where it is left out. */
  readonly channels: readonly (readonly [channel: string, explained: ExplainedChannel | undefined])[]
  /** A moment as the customer reads it. */
  readonly formatTime: (at: string) => string
}

/** The answer for a customer, in plain words: no address, no id and nothing that a provider or a template said. */
export function customerAnswer(t: Texts, { event, channels, formatTime }: CustomerAnswerInput): string {
  const { greeting, sent, stopped, waits, reasons } = t.why.customer
  const lines = channels.map(([channel, explained]) => {
    const name = wordOf(t.codes.channels, channel)
    if (explained?.outcome === 'queued') return sent(name)
    const code = explained === undefined ? 'preference' : (explained.reason_code ?? 'other')
    const why = isKnown(reasons, code) ? reasons[code] : reasons.other
    const until = explained?.until
    return until === undefined ? stopped(name, why) : waits(name, why, formatTime(until))
  })
  return [greeting(event), ...lines].join('\n')
}

function isKnown<Table extends object>(table: Table, name: PropertyKey): name is keyof Table {
  return Object.hasOwn(table, name)
}
