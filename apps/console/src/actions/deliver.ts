import { dangerous, editors, everybody, read, write } from './action.ts'

/** What is done with notifications. */
export const deliver = {
  readNotification: read('notifications.get', everybody),
  explain: read('notifications.explain', everybody),
  listEventTypes: read('eventTypes.list', everybody),
  listDeadLetters: read('deadLetters.list', everybody),
  replayDeadLetter: write('deadLetters.replay', editors, 'deadLetters.list', 'notifications.get'),
  discardDeadLetter: dangerous('deadLetters.discard', editors, 'deadLetters.list'),
}
