import { everybody, read } from './action.ts'

/** What is done with notifications. */
export const deliver = {
  readNotification: read('notifications.get', everybody),
  explain: read('notifications.explain', everybody),
  listEventTypes: read('eventTypes.list', everybody),
}
