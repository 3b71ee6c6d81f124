import { dangerous, editors, everybody, operator, owner, read, support, write } from './action.ts'

const supporters = [owner, operator, support] as const
const sessions = ['users.sessions.list', 'sessions.list'] as const

/** What is done with users. */
export const people = {
  listUsers: read('users.list', everybody),
  searchUsers: read('users.search', everybody),
  exportUsers: dangerous('users.export', editors),
  createUser: dangerous('users.create', editors, 'users.list', 'users.search'),
  readUser: read('users.get', everybody),
  updateUser: write('users.update', editors, 'users.get', 'users.list', 'users.search'),
  lockUser: write('users.update', editors, 'users.get', 'users.list', 'users.search', ...sessions),
  deleteUser: dangerous('users.delete', editors, 'users.list', 'users.search', 'users.get'),
  mailUser: write('users.sendMail', supporters),
  revealUser: write('users.reveal', [owner, support]),
  listSessions: read('users.sessions.list', everybody),
  endSession: write('users.sessions.end', supporters, ...sessions),
  endAllSessions: write('users.sessions.endAll', supporters, ...sessions),
  findSessions: read('sessions.list', everybody),
  endSelectedSessions: dangerous('sessions.endSelected', editors, ...sessions),
  listGrants: read('users.grants.list', everybody),
  endGrant: write('users.grants.end', supporters, 'users.grants.list'),
  listConsents: read('users.consents.list', everybody),
  withdrawConsent: write('users.consents.withdraw', editors, 'users.consents.list', 'users.grants.list'),
  readFactors: read('users.factors.get', everybody),
  resetFactors: dangerous('users.factors.reset', editors, 'users.factors.get', ...sessions),
}

/** What is done with users as recipients of notifications. */
export const recipients = {
  readRecipient: read('recipients.get', everybody),
  searchRecipients: read('recipients.search', everybody),
  revealRecipient: write('recipients.reveal', [owner, support]),
  readStanding: read('users.standing.get', everybody),
  listNotificationsOfUser: read('notifications.list', everybody),
  listPreferences: read('users.preferences.list', everybody),
  readChoices: read('users.choices.get', everybody),
  listDevices: read('users.devices.list', everybody),
  deleteDevice: dangerous('users.devices.delete', editors, 'users.devices.list', 'users.standing.get'),
  exportUserData: dangerous('users.data.export', [owner]),
  eraseUserData: dangerous('users.data.erase', [owner], 'recipients.get', 'users.standing.get', 'users.devices.list'),
}

/** What the search asks beside the lists of the screens. */
export const searches = {
  findApiKey: read('apiKeys.identify', everybody),
  readApiKey: read('apiKeys.get', everybody),
  findDelivery: read('deliveries.get', everybody),
  findDeadLetter: read('deadLetters.get', everybody),
  findTemplates: read('templates.list', everybody),
  findProviders: read('providers.list', everybody),
}

/** What is done with the limits of a user. */
export const quotas = {
  readUserTiers: read('limits.settings.get', everybody),
  readUserLimit: read('limits.get', everybody),
  grantRequestsToUser: write('limits.grant', supporters, 'limits.get'),
}
