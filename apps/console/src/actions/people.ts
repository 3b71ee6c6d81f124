import { dangerous, editors, everybody, operator, owner, read, support, write } from './action.ts'

/** What is done with users. */
export const people = {
  listUsers: read('users.list', everybody),
  readUser: read('users.get', everybody),
  lockUser: write('users.update', editors, 'users.get', 'users.list', 'users.sessions.list'),
  deleteUser: dangerous('users.delete', editors, 'users.list', 'users.get'),
  mailUser: write('users.sendMail', [owner, operator, support]),
  revealUser: write('users.reveal', [owner, support]),
  listSessions: read('users.sessions.list', everybody),
  endSession: write('users.sessions.end', [owner, operator, support], 'users.sessions.list'),
  listConsents: read('users.consents.list', everybody),
  withdrawConsent: write('users.consents.withdraw', editors, 'users.consents.list'),
  readFactors: read('users.factors.get', everybody),
  resetFactors: dangerous('users.factors.reset', editors, 'users.factors.get', 'users.sessions.list'),
}
