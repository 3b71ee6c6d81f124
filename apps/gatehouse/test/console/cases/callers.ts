import type { callers as actions } from '@gatehouse/console/actions'
import type { Cases } from './case.ts'

const caller = { kind: 'user', id: 'target' }
const limit = { policy: 'free', ...caller }

/** A call for each action of this part. */
export const callers: Cases<keyof typeof actions> = {
  listTopCallers: () => ({ query: { by: 'allowed', window: '24h' } }),
  readLimitStatistics: () => ({ query: { by: 'policy' } }),
  readLimitUse: () => ({ query: { policy: 'free' } }),
  listRejections: () => ({ query: caller }),
  readCounterStore: () => ({}),
  readCaller: () => ({ params: caller }),
  explainLimit: () => ({ params: limit }),
  listPolicyNames: () => ({}),
  unblockCaller: () => ({ params: caller }),
  resetLimit: () => ({ params: limit }),
  grantRequests: () => ({ params: limit, body: { amount: 5 } }),
  listRoutes: () => ({}),
  matchRoute: () => ({ query: { method: 'GET', path: '/v1/notify' } }),
  listUpstreams: () => ({}),
}

/** What has nothing to act on here: the API gets as far as to look for it. */
export const callersMayFindNothing: readonly (keyof typeof actions)[] = []
