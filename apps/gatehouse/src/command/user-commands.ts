import { UserDeclaration, UserPatch } from '@gatehouse/identity'
import { validateInput } from './checked.ts'
import { type Commands, maxListed } from './command.ts'
import { importFile } from './import-users.ts'
import { first, list, required, someOf, type Typed, text } from './typed.ts'

/** What is done about users. */
export const userCommands: Commands = {
  'user list': {
    usage: '',
    summary: 'the users',
    run: (management) => management.listUsers('', maxListed),
  },
  'user add': {
    usage: '<id> [--username NAME] [--email ADDRESS] [--plan PLAN] [--roles A,B]',
    summary: 'create a user; a password is generated and shown once',
    run: (management, { args, options }) =>
      management.createUser(
        validateInput(UserDeclaration, {
          id: first(args),
          ...userMembers(options),
        }),
      ),
  },
  'users import': {
    usage:
      '<file> [--source gatehouse|auth0|firebase|keycloak] [--signer-key KEY] [--salt-separator TEXT] [--rounds 8] [--mem-cost 14]',
    summary:
      'create the users of an export, JSON or a line each, with the hashes of their passwords; reports each line',
    run: (management, { args, options }) => importFile(management, first(args), options),
  },
  'user change': {
    usage: '<id> [--username NAME] [--email ADDRESS] [--plan PLAN] [--roles A,B]',
    summary: 'change the named options; others stay as they are',
    run: (management, { args, options }) => {
      const id = first(args)
      return management.updateUser(id, validateInput(UserPatch, someOf(userMembers(options))))
    },
  },
  'user password': {
    usage: '<id>',
    summary: 'set a new password, generated and shown once; sessions and grants of the old one end',
    run: (management, { args }) => management.generatePassword(first(args)),
  },
  'user consents': {
    usage: '<id>',
    summary: 'the consents of the user',
    run: (management, { args }) => management.listConsents(first(args)),
  },
  'user withdraw': {
    usage: '<id> --client CLIENT',
    summary: 'withdraw the consent to a client and revoke its grants',
    run: (management, { args, options }) => management.withdrawConsent(first(args), required(options, 'client')),
  },
  'user sessions': {
    usage: '<id>',
    summary: 'the sessions of the user',
    run: (management, { args }) => management.listSessions(first(args)),
  },
  'user sign-out': {
    usage: '<id> [--session ID]',
    summary: 'end one session of the user, or all of them; clients with a logout URI are notified',
    async run(management, { args, options }) {
      const id = first(args)
      if (typeof options.session === 'string') {
        await management.endSession(id, options.session)
        return { ended: 1 }
      }
      return { ended: await management.endSessions(id) }
    },
  },
  'user factors': {
    usage: '<id>',
    summary: 'the second factors of the user, without secrets',
    run: (management, { args }) => management.readFactors(first(args)),
  },
  'user reset-factors': {
    usage: '<id>',
    summary: 'remove every second factor and end the sessions; the next sign-in sets up a new one',
    run: (management, { args }) => management.resetFactors(first(args)),
  },
  'user lock': {
    usage: '<id>',
    summary: 'end what the user is signed in to, and let nobody in',
    run: (management, { args }) => management.updateUser(first(args), { locked: true }),
  },
  'user unlock': {
    usage: '<id>',
    summary: 'let the user in again',
    run: (management, { args }) => management.updateUser(first(args), { locked: false }),
  },
  'user remove': {
    usage: '<id>',
    summary: 'delete a user and everything of theirs',
    run: (management, { args }) => management.deleteUser(first(args)),
  },
}

function userMembers(options: Typed['options']): object {
  return {
    ...text('username', options.username),
    ...text('email', options.email),
    ...text('plan', options.plan),
    ...list('roles', options.roles),
  }
}
