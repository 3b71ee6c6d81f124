import type { Delivery, TimelineEntry } from '../../api/records.ts'

/** What happened on one channel, in order; `undefined` for what concerns the whole notification. */
export interface ChannelTimeline {
  readonly channel: string | undefined
  readonly delivery: Delivery | undefined
  readonly entries: readonly TimelineEntry[]
}

/** Parts a timeline by channel: what concerns all of them first, then the deliveries in their order. */
export function partByChannel(deliveries: readonly Delivery[], timeline: readonly TimelineEntry[]): ChannelTimeline[] {
  const known = deliveries.map(({ channel }) => channel)
  const channels = [...new Set([...known, ...timeline.flatMap(({ channel }) => channel ?? [])])]
  const ordered = timeline.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at))
  const whole = ordered.filter(({ channel }) => channel === undefined)
  return [
    ...(whole.length > 0 ? [{ channel: undefined, delivery: undefined, entries: whole }] : []),
    ...channels.map((channel) => ({
      channel,
      delivery: deliveries.find((delivery) => delivery.channel === channel),
      entries: ordered.filter((entry) => entry.channel === channel),
    })),
  ]
}

/** How a delivery stands: it arrived, it failed, or neither yet. */
export function toneOf({ outcome, state, ended }: Delivery): 'good' | 'bad' | 'careful' | 'neutral' {
  if (state === 'bounced' || outcome === 'failed' || outcome === 'undeliverable' || ended === 'dead_letter')
    return 'bad'
  if (state === 'sent' || state === 'delivered' || state === 'opened' || state === 'clicked') return 'good'
  return outcome === 'queued' ? 'neutral' : 'careful'
}
