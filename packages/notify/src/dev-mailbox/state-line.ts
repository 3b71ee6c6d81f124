import type { Channel } from '../model/channel.ts'
import type { DeliveryState } from '../model/delivery/delivery-state.ts'

/** One state of a delivery, as the mailbox draws it. */
export interface StateStep {
  readonly state: DeliveryState
  /** `implied` is a state that a later one jumped over; `ahead` has not come yet. */
  readonly standing: 'reached' | 'implied' | 'ahead'
  /** When it was reached, Unix milliseconds. */
  readonly at?: number
}

/** What a state line reads of a notification. */
interface Course {
  readonly acceptedAt: number
  readonly timeline: ReadonlyArray<{ readonly at: number; readonly channel?: Channel; readonly detail?: object }>
}

const inOrder: readonly DeliveryState[] = ['queued', 'sent', 'delivered', 'opened', 'clicked']

/**
 * The states of a delivery from left to right: those it came to with their times, those that were implied, and those that
 * may still come. A delivery that bounced ends there.
 */
export function stateSteps(state: DeliveryState, record: Course | undefined, channel: Channel): readonly StateStep[] {
  const times = timesOf(record, channel)
  const bounced = state === 'bounced'
  const furthest = bounced
    ? Math.max(1, ...[...times.keys()].map((each) => inOrder.indexOf(each)))
    : inOrder.indexOf(state)
  const steps = inOrder.map((each, index): StateStep => {
    const at = times.get(each)
    if (index > furthest) return { state: each, standing: 'ahead' }
    return at === undefined ? { state: each, standing: 'implied' } : { state: each, standing: 'reached', at }
  })
  if (!bounced) return steps
  const at = times.get('bounced')
  return [
    ...steps.filter(({ standing }) => standing !== 'ahead'),
    { state: 'bounced', standing: 'reached', ...(at === undefined ? {} : { at }) },
  ]
}

function timesOf(record: Course | undefined, channel: Channel): ReadonlyMap<DeliveryState, number> {
  const times = new Map<DeliveryState, number>()
  if (!record) return times
  times.set('queued', record.acceptedAt)
  for (const { at, channel: of, detail } of record.timeline) {
    const state = detail && 'state' in detail ? detail.state : undefined
    if (of === channel && isState(state) && !times.has(state)) times.set(state, at)
  }
  return times
}

const isState = (state: unknown): state is DeliveryState =>
  state === 'bounced' || inOrder.includes(state as DeliveryState)
