import type { Commands } from './command.ts'
import { first, second } from './typed.ts'

const grantUsage = '<user> <gatehouse-owner|gatehouse-operator|gatehouse-support|gatehouse-auditor>'

/** Who administers: how an installation gets its first owner. */
export const adminCommands: Commands = {
  'admin list': {
    usage: '',
    summary: 'the users with a management role',
    run: (management) => management.listAdministrators(),
  },
  'admin grant': {
    usage: grantUsage,
    summary: 'grant a user a management role: gatehouse-owner, -operator, -support or -auditor',
    run: (management, { args }) => management.changeRole(first(args), { role: second(args), granted: true }),
  },
  'admin revoke': {
    usage: grantUsage,
    summary: 'revoke a management role from a user; the last owner keeps it',
    run: (management, { args }) => management.changeRole(first(args), { role: second(args), granted: false }),
  },
}
