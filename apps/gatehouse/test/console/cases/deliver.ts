import type { deliver as actions } from '@gatehouse/console/actions'
import { type Cases, nothing } from './case.ts'

/** A call for each action of this part. */
export const deliver: Cases<keyof typeof actions> = {
  readNotification: () => ({ params: { id: nothing } }),
  explain: () => ({ body: { event: 'order.shipped', user_id: 'target', data: {} } }),
  listEventTypes: () => ({}),
}

/** What has nothing to act on here: the API gets as far as to look for it. */
export const deliverMayFindNothing: readonly (keyof typeof actions)[] = ['readNotification']
