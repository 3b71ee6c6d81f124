import type { PlannedDelivery, PlannedNotification } from '../admission/planned.ts'
import type { NotifyOptions } from '../config/options.ts'
import type { Channel } from '../model/channel.ts'
import { composeDedupKey } from '../model/notification/dedup-key.ts'
import { createReason } from '../model/notification/reason.ts'
import type { TimelineEntry } from '../model/notification/timeline.ts'
import { actorOf } from './actor.ts'
import { dataAlone } from './aggregate-data.ts'
import { channelIsOff, channelPlanner, expiryOf } from './channel-plan.ts'
import { chooseChannels } from './channels.ts'
import type { PlanInput } from './plan-input.ts'

/**
 * The steps before admission: preferences, quiet hours, aggregation, and the text of what is to be sent now. What is sent
 * again is not gathered again.
 */
export function planNotification(input: PlanInput, options: NotifyOptions): PlannedNotification {
  const { id, request, eventType, profile, now } = input
  const aggregation = input.resendOf === undefined ? eventType.aggregation : undefined
  const expiresAt = expiryOf(eventType, input.occurredAt ?? now)
  const chosen = chooseChannels(request.channels, eventType, profile)
  const off = chosen.channels.filter((channel) => options.channelsOff.includes(channel))
  const wanted =
    chosen.because === 'request' ? chosen.channels : chosen.channels.filter((channel) => !off.includes(channel))
  const decisions: TimelineEntry[] = [
    { at: now, what: 'accepted', detail: acceptedDetail(input) },
    { at: now, what: 'channels', detail: { channels: chosen.channels, because: chosen.because } },
    ...off.map((channel) => ({ at: now, what: 'excluded', channel, detail: createReason('channel_off') }) as const),
  ]
  const data = dataAlone({ id, at: now, data: request.data }, eventType)
  const plan = aggregation
    ? (channel: Channel) => (off.includes(channel) ? channelIsOff : ({ kind: 'aggregate' } as const))
    : channelPlanner({ ...input, userId: request.user_id, data, expiresAt }, options, decisions)
  const deliveries = wanted.map((channel): PlannedDelivery => {
    const key = request.dedup_key
    const logKey = key === undefined ? undefined : composeDedupKey(request.event, key, request.user_id, channel)
    return { channel, plan: plan(channel), ...(logKey === undefined ? {} : { logKey }) }
  })
  return {
    id,
    userId: request.user_id,
    event: request.event,
    data: request.data,
    priority: eventType.priority,
    acceptedAt: now,
    ...(expiresAt === undefined ? {} : { expiresAt }),
    sensitive: eventType.sensitive,
    ...(request.dedup_key === undefined ? {} : { dedupKey: request.dedup_key }),
    ...(request.channels ? { requested: request.channels } : {}),
    decisions,
    deliveries,
    ...(aggregation
      ? { item: { actor: actorOf(request.data, aggregation.actor) ?? id, flushAt: now + options.aggregationDelayMs } }
      : {}),
    stored: 'no',
  }
}

function acceptedDetail({ source, request, eventType, resendOf }: PlanInput) {
  const { event } = request
  return { source, event, priority: eventType.priority, ...(resendOf === undefined ? {} : { resend_of: resendOf }) }
}
