import type { Commands } from './command.ts'
import { first, required } from './typed.ts'

/** What is done about other identity providers. A running server takes a change within five seconds. */
export const providerCommands: Commands = {
  'connection list': {
    usage: '',
    summary: 'the connections to other identity providers',
    run: (management) => management.listConnections(),
  },
  'connection enable': {
    usage: '<id>',
    summary: 'let users sign in with the connection again',
    run: (management, { args }) => management.updateConnection(first(args), { enabled: true }),
  },
  'connection disable': {
    usage: '<id>',
    summary: 'let nobody sign in with the connection; its users then have their other ways, if any',
    run: (management, { args }) => management.updateConnection(first(args), { enabled: false }),
  },
  'user providers': {
    usage: '<id>',
    summary: 'the accounts at other identity providers that the user signs in with',
    run: (management, { args }) => management.listLinkedProviders(first(args)),
  },
  'user disconnect': {
    usage: '<id> --link ID',
    summary: 'remove one of them and end what the user is signed in to; shows how many ways to sign in are left',
    run: (management, { args, options }) => management.removeLinkedProvider(first(args), required(options, 'link')),
  },
}
