import type { DeliveryState } from './settled.ts'
import { table } from './table.ts'
import type { Tally } from './tally.ts'

const outcomes = ['queued', 'duplicate', 'capped', 'deferred', 'aggregated', 'failed'] as const

/** What was answered for each event type and channel, and how many of the queued have been sent. */
export function outcomeTable(answered: Tally, states: readonly DeliveryState[]): string {
  const labels = [...new Set(answered.names().map((name) => name.split(' ').slice(0, 2).join(' ')))]
  const rows = labels.map((label) => {
    const counts = outcomes.map((outcome) => answered.of(`${label} ${outcome}`))
    const sent = states.filter(
      ({ event, channel, state }) => `${event} ${channel}` === label && state !== 'queued',
    ).length
    return [label, ...counts, sent].map((cell) => String(cell))
  })
  const totals =
    rows[0]?.slice(1).map((_, column) => String(rows.reduce((sum, row) => sum + Number(row[column + 1]), 0))) ?? []
  return table(['event type and channel', ...outcomes, 'sent'], [...rows, ['all', ...totals]])
}
