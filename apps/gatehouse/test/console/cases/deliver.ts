import type { deliver as actions } from '@gatehouse/console/actions'
import { type Cases, nothing } from './case.ts'

const event = { event: 'order.shipped', user_id: 'target', data: {} }

/** A call for each action of this part. */
export const deliver: Cases<keyof typeof actions> = {
  listNotifications: () => ({}),
  readNotification: () => ({ params: { id: nothing } }),
  readContent: () => ({ params: { id: nothing } }),
  resendNotification: () => ({ params: { id: nothing }, body: { channels: ['email'] } }),
  cancelNotification: () => ({ params: { id: nothing }, body: {} }),
  readDelivery: () => ({ params: { id: nothing } }),
  findDeliveries: () => ({ query: { provider_message_id: 'none' } }),
  send: () => ({ body: event }),
  sendMany: () => ({ body: [event] }),
  schedule: () => ({ body: { fire_at: '2090-01-01T00:00:00Z', payload: event } }),
  explain: () => ({ body: { event: 'order.shipped', user_id: 'target', data: {} } }),
  listEventTypes: () => ({}),
}

/** What has nothing to act on here: the API gets as far as to look for it. */
export const deliverMayFindNothing: readonly (keyof typeof actions)[] = [
  'readNotification',
  'readContent',
  'readDelivery',
  'resendNotification',
  'cancelNotification',
]
