import type { Texts } from '../../texts/en.ts'
import type { EventTypeForm } from './event-type-form.ts'
import { type Channel, channels } from './matrix.ts'

/** What the settings of an event type do, in words. */
export function describeEffects(form: EventTypeForm, t: Texts): string[] {
  const { effects } = t
  const chosen = channels.filter((channel) => form.channels.includes(channel)).map((channel) => t.channels[channel])
  const tracked = channels.filter((channel) => isTracked(form.tracking[channel]))
  return [
    form.priority === 'critical' ? effects.critical : form.priority === 'low' ? effects.low : effects.normal,
    chosen.length === 0 ? effects.noChannels : effects.channels(chosen.join(', ')),
    ...(form.aggregates && form.actor !== '' ? [effects.aggregation(Number(form.threshold || 3), form.actor)] : []),
    ...(form.limits ? [effects.rate(Number(form.limit), Number(form.per_seconds))] : []),
    ...(form.ttl_seconds === '' ? [] : [effects.ttl(Number(form.ttl_seconds))]),
    ...tracked.map((channel) => describeTracking(channel, form.tracking[channel], t)),
    ...(form.sensitive ? [effects.sensitive] : []),
  ]
}

function isTracked(level: string): boolean {
  return level !== '' && level !== 'off'
}

/** Only the pixel of a mail records that it was opened. */
function describeTracking(channel: Channel, level: string, { channels: names, effects }: Texts): string {
  const opens = channel === 'email' && level !== 'clicks'
  const clicks = level !== 'opens'
  if (opens && clicks) return effects.tracksBoth(names[channel])
  if (opens) return effects.tracksOpens(names[channel])
  return clicks ? effects.tracksClicks(names[channel]) : effects.tracksNothing(names[channel])
}
