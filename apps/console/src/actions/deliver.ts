import { dangerous, editors, everybody, read, write } from './action.ts'

/** What is done with notifications. */
export const deliver = {
  listNotifications: read('notifications.list', everybody),
  readNotification: read('notifications.get', everybody),
  readContent: read('notifications.content.get', everybody),
  resendNotification: write('notifications.resend', editors, 'notifications.get', 'notifications.list'),
  cancelNotification: write('notifications.cancel', editors, 'notifications.get', 'notifications.list'),
  readDelivery: read('deliveries.get', everybody),
  findDeliveries: read('deliveries.list', everybody),
  explain: read('notifications.explain', everybody),
  send: write('notifications.send', editors, 'notifications.list'),
  sendMany: dangerous('notifications.sendBulk', editors, 'notifications.list'),
  schedule: dangerous('scheduled.create', editors, 'scheduled.list'),
  listEventTypes: read('eventTypes.list', everybody),
}
