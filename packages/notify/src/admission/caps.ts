import type { Caps } from '../config/options.ts'
import type { Channel } from '../model/channel.ts'
import type { Priority } from '../model/notification/priority.ts'
import type { PlannedDelivery, PlannedNotification } from './planned.ts'

/** A counter and the time of its first counted notification. */
interface Counter {
  readonly since: number
  readonly used: number
}

/** The counters of one user, by what they count: `total`, `channel:<channel>`, `priority:<priority>`. */
export type Counters = Readonly<Record<string, Counter>>

/** The cap that a message reached. */
export interface CapReached {
  /** `total`, `channel:<channel>` or `priority:<priority>`. */
  readonly cap: string
  readonly limit: number
  /** When its window ends, Unix milliseconds; left out where the cap lets nothing through at all. */
  readonly until?: number
}

/** The caps of a user, and the length of their window. */
export interface CapRules {
  readonly caps: Caps
  readonly windowMs: number
}

/** The caps at a time. */
export interface Limits extends CapRules {
  readonly now: number
}

const uncapped: ReadonlyMap<Channel, CapReached> = new Map()

/** Counts what is sent; returns the channels on which a cap is reached, with that cap. */
export function countAgainstCaps(
  notification: PlannedNotification,
  fresh: readonly PlannedDelivery[],
  counters: Map<string, Counters>,
  { caps, windowMs, now }: Limits,
): ReadonlyMap<Channel, CapReached> {
  const sending = fresh.filter(({ plan }) => plan.kind === 'send').map(({ channel }) => channel)
  if (sending.length === 0 || notification.free || notification.priority === 'critical') return uncapped
  const mine = counters.get(notification.userId) ?? {}
  const reached = ([name, max]: readonly [string, number]): CapReached | undefined => {
    const used = usedAt(mine[name], windowMs, now)
    if (used < max) return undefined
    const since = used > 0 ? mine[name]?.since : undefined
    return { cap: name, limit: max, ...(since === undefined ? {} : { until: since + windowMs }) }
  }
  const limits = wholeLimits(notification.priority, caps)
  const whole = limits.map(reached).find((each) => each !== undefined)
  if (whole) return new Map(sending.map((channel) => [channel, whole]))
  const own = sending.flatMap((channel) => channelLimit(channel, caps))
  const full = own.flatMap(({ channel, limit }) => {
    const found = reached(limit)
    return found ? [[channel, found] as const] : []
  })
  const capped = new Map(full)
  if (capped.size === sending.length) return capped
  const counted = own.filter(({ channel }) => !capped.has(channel)).map(({ limit }) => limit)
  const entries = [...limits, ...counted].map(([name]) => [name, oneMore(mine[name], windowMs, now)] as const)
  counters.set(notification.userId, { ...mine, ...Object.fromEntries(entries) })
  return capped
}

function channelLimit(channel: Channel, { channels }: Caps) {
  const max = channels[channel]
  return max === undefined ? [] : [{ channel, limit: [`channel:${channel}`, max] as const }]
}

function wholeLimits(priority: Priority, caps: Caps): Array<readonly [string, number]> {
  const own = priority === 'critical' ? undefined : caps.priorities[priority]
  return [['total', caps.total] as const, ...(own === undefined ? [] : [[`priority:${priority}`, own] as const])]
}

function usedAt(counter: Counter | undefined, windowMs: number, now: number): number {
  return isOpen(counter, windowMs, now) ? counter.used : 0
}

function oneMore(counter: Counter | undefined, windowMs: number, now: number): Counter {
  return isOpen(counter, windowMs, now) ? { since: counter.since, used: counter.used + 1 } : { since: now, used: 1 }
}

/** A window that begins a whole window or more in the future was opened by a clock that was wrong: it counts nothing. */
export function isOpen(counter: Counter | undefined, windowMs: number, now: number): counter is Counter {
  return counter !== undefined && Math.abs(now - counter.since) < windowMs
}
