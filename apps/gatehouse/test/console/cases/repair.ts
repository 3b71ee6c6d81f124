import type { repair as actions } from '@gatehouse/console/actions'
import { type Call, type Cases, nothing } from './case.ts'

const one: () => Call = () => ({ params: { id: nothing } })
const batch: () => Call = () => ({ params: { batch_id: nothing } })
const mailbox = { params: { name: 'mailbox-email' } }
/** Of somebody who has no suppression but those that are added here. */
const suppressed = { user_id: 'target', channel: 'email', scope: 'news' }

/** A call for each action of this part. */
export const repair: Cases<keyof typeof actions> = {
  listDeadLetters: () => ({}),
  summarizeDeadLetters: () => ({ query: { group_by: 'cause' } }),
  replayDeadLetter: one,
  replayDeadLetters: () => ({ body: { cause: 'permanent' } }),
  readReplay: batch,
  stopReplay: batch,
  discardDeadLetter: one,
  discardDeadLetters: () => ({ body: { cause: 'permanent' } }),
  listScheduled: () => ({}),
  readScheduled: one,
  moveScheduled: () => ({ params: { id: nothing }, body: { fire_at: '2090-01-01T00:00:00Z' } }),
  cancelScheduled: one,
  listPending: () => ({ query: { kind: 'deferred' } }),
  releasePending: one,
  releaseParked: () => ({ params: { event: 'order.shipped' }, body: {} }),
  readQueue: () => ({}),
  listProviders: () => ({}),
  readProvider: () => mailbox,
  pauseProvider: () => ({ ...mailbox, body: { until: '2090-01-01T00:00:00Z' } }),
  resumeProvider: () => mailbox,
  testProvider: () => ({ ...mailbox, body: { to: 'target@example.com' } }),
  readProviderOrder: () => ({ query: { channel: 'email' } }),
  orderProviders: () => ({ body: { channel: 'email', providers: ['mailbox-email'] } }),
  listSuppressions: () => ({}),
  searchSuppressions: () => ({ body: { user_id: 'target' } }),
  addSuppression: () => ({ body: suppressed }),
  liftSuppression: () => ({ params: { suppression_id: nothing } }),
  liftSuppressions: () => ({ query: suppressed }),
}

/** What has nothing to act on here: the API gets as far as to look for it. */
export const repairMayFindNothing: readonly (keyof typeof actions)[] = [
  'replayDeadLetter',
  'readReplay',
  'stopReplay',
  'discardDeadLetter',
  'readScheduled',
  'moveScheduled',
  'readScheduled',
  'cancelScheduled',
  'releasePending',
  'releaseParked',
  'liftSuppression',
]
