import { dangerous, editors, everybody, read, write } from './action.ts'

const letters = ['deadLetters.list', 'deadLetters.summary.get'] as const
const providers = ['providers.list', 'providers.get', 'providers.order.get'] as const

/** What is done about what failed, waits or is held back. */
export const repair = {
  listDeadLetters: read('deadLetters.list', everybody),
  summarizeDeadLetters: read('deadLetters.summary.get', everybody),
  replayDeadLetter: write('deadLetters.replay', editors, ...letters, 'notifications.get'),
  replayDeadLetters: dangerous('deadLetters.replayMany', editors, ...letters),
  readReplay: read('replays.get', everybody),
  stopReplay: write('replays.stop', editors, ...letters, 'replays.get'),
  discardDeadLetter: dangerous('deadLetters.discard', editors, ...letters),
  discardDeadLetters: dangerous('deadLetters.discardMany', editors, ...letters),
  listScheduled: read('scheduled.list', everybody),
  readScheduled: read('scheduled.get', everybody),
  moveScheduled: write('scheduled.move', editors, 'scheduled.list'),
  cancelScheduled: write('scheduled.cancel', editors, 'scheduled.list'),
  listPending: read('pending.list', everybody),
  releasePending: write('pending.release', editors, 'pending.list'),
  releaseParked: dangerous('parked.release', editors, 'pending.list'),
  readQueue: read('queue.get', everybody),
  listProviders: read('providers.list', everybody),
  readProvider: read('providers.get', everybody),
  pauseProvider: dangerous('providers.pause', editors, ...providers),
  resumeProvider: write('providers.resume', editors, ...providers),
  testProvider: dangerous('providers.test', editors),
  readProviderOrder: read('providers.order.get', everybody),
  orderProviders: dangerous('providers.order.update', editors, ...providers),
  listSuppressions: read('suppressions.list', everybody),
  searchSuppressions: read('suppressions.search', everybody),
  addSuppression: dangerous('suppressions.create', editors, 'suppressions.list', 'suppressions.search'),
  liftSuppression: dangerous('suppressions.lift', editors, 'suppressions.list', 'suppressions.search'),
  liftSuppressions: dangerous('suppressions.liftMany', editors, 'suppressions.list', 'suppressions.search'),
}
