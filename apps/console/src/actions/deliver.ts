import { dangerous, editors, everybody, owner, read, support, write } from './action.ts'

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
  readStanding: read('users.standing.get', everybody),
  readRecipient: read('recipients.get', everybody),
  revealRecipient: write('recipients.reveal', [owner, support]),
  listProviders: read('providers.list', everybody),
  previewTemplate: read('templates.preview', everybody),
  send: write('notifications.send', editors, 'notifications.list'),
  sendMany: write('notifications.sendBulk', editors, 'notifications.list'),
  schedule: write('scheduled.create', editors, 'scheduled.list'),
  addSuppression: write('suppressions.create', editors, 'suppressions.list'),
  listEventTypes: read('eventTypes.list', everybody),
  listDeadLetters: read('deadLetters.list', everybody),
  replayDeadLetter: write('deadLetters.replay', editors, 'deadLetters.list', 'notifications.get'),
  discardDeadLetter: dangerous('deadLetters.discard', editors, 'deadLetters.list'),
}
