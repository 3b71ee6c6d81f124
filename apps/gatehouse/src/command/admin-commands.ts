import type { Commands } from './command.ts'
import { argument } from './typed.ts'

const user = 'the id of the user'
const role = 'the role: gatehouse-owner, gatehouse-operator, gatehouse-support or gatehouse-auditor'

/** Who administers: how an installation gets its first owner. */
export const adminCommands: Commands = {
  'admin list': {
    usage: '',
    summary: 'the users with a management role',
    run: (management) => management.listAdministrators(),
  },
  'admin grant': {
    usage: '<user> <role>',
    summary: 'grant a user a management role: gatehouse-owner, -operator, -support or -auditor',
    run: (management, { args }) =>
      management.changeRole(argument(args, 0, user), { role: argument(args, 1, role), granted: true }),
  },
  'admin revoke': {
    usage: '<user> <role>',
    summary: 'revoke a management role from a user; the last owner keeps it',
    run: (management, { args }) =>
      management.changeRole(argument(args, 0, user), { role: argument(args, 1, role), granted: false }),
  },
}
