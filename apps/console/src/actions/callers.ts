import { dangerous, editors, everybody, operator, owner, read, support, write } from './action.ts'

const ofCaller = ['limits.callers.get', 'limits.explain', 'limits.get'] as const

/** What is done with callers and their limits, and what is read about routes. */
export const callers = {
  listTopCallers: read('limits.top.get', everybody),
  readLimitStatistics: read('limits.stats.get', everybody),
  readLimitUse: read('limits.use.get', everybody),
  listRejections: read('limits.rejections.list', everybody),
  readCounterStore: read('limits.store.get', everybody),
  readCaller: read('limits.callers.get', everybody),
  explainLimit: read('limits.explain', everybody),
  listPolicyNames: read('limits.settings.get', everybody),
  unblockCaller: dangerous('limits.callers.unblock', editors, ...ofCaller),
  resetLimit: dangerous('limits.reset', editors, ...ofCaller),
  grantRequests: write('limits.grant', [owner, operator, support], ...ofCaller),
  listRoutes: read('routes.get', everybody),
  matchRoute: read('routes.match.get', everybody),
  listUpstreams: read('upstreams.get', everybody),
}
