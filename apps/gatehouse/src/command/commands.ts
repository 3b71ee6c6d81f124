import { ClientDeclaration, type Management, UserDeclaration } from '@gatehouse/identity'
import { StartError } from '@gatehouse/kit'
import { checked } from './checked.ts'

/** What was typed after a command's name: its arguments in order, and its options by name. */
export interface Typed {
  readonly args: readonly string[]
  readonly options: Readonly<Record<string, string | boolean | undefined>>
}

interface Command {
  /** Arguments and options, as the usage shows them. */
  readonly usage: string
  readonly summary: string
  run(management: Management, typed: Typed): Promise<unknown>
}

const most = 1_000

/** Every command, by its two words. */
export const commands: Readonly<Record<string, Command>> = {
  'client list': {
    usage: '',
    summary: 'the registered clients',
    run: (management) => management.listClients('', most),
  },
  'client add': {
    usage: '<id> [--name NAME] [--public] [--grant-types A,B] [--redirect-uris A,B] [--scopes A,B] [--plan PLAN]',
    summary: 'register a client; a secret is made and shown once',
    run: (management, { args, options }) =>
      management.createClient(
        checked(ClientDeclaration, {
          client_id: first(args, 'the id of the client'),
          ...text('client_name', options.name),
          ...(options.public ? { token_endpoint_auth_method: 'none' as const } : {}),
          ...list('grant_types', options['grant-types']),
          ...list('redirect_uris', options['redirect-uris']),
          ...list('scopes', options.scopes),
          ...text('plan', options.plan),
        }),
      ),
  },
  'client secret': {
    usage: '<id>',
    summary: 'make a new secret; the old one stops working',
    run: (management, { args }) => management.renewSecret(first(args, 'the id of the client')),
  },
  'client remove': {
    usage: '<id>',
    summary: 'delete a client and end every grant to it',
    run: (management, { args }) => management.removeClient(first(args, 'the id of the client')),
  },
  'user list': {
    usage: '',
    summary: 'the users',
    run: (management) => management.listUsers('', most),
  },
  'user add': {
    usage: '<id> [--username NAME] [--email ADDRESS] [--plan PLAN] [--roles A,B]',
    summary: 'make a user; a password is made and shown once',
    run: (management, { args, options }) =>
      management.createUser(
        checked(UserDeclaration, {
          id: first(args, 'the id of the user'),
          ...text('username', options.username),
          ...text('email', options.email),
          ...text('plan', options.plan),
          ...list('roles', options.roles),
        }),
      ),
  },
  'user lock': {
    usage: '<id>',
    summary: 'end what the user is signed in to, and let nobody in',
    run: (management, { args }) => management.changeUser(first(args, 'the id of the user'), { locked: true }),
  },
  'user unlock': {
    usage: '<id>',
    summary: 'let the user in again',
    run: (management, { args }) => management.changeUser(first(args, 'the id of the user'), { locked: false }),
  },
  'user remove': {
    usage: '<id>',
    summary: 'delete a user and everything of theirs',
    run: (management, { args }) => management.removeUser(first(args, 'the id of the user')),
  },
  'api-key list': {
    usage: '',
    summary: 'the API keys',
    run: (management) => management.listApiKeys('', most),
  },
  'api-key add': {
    usage: '<owner> --scopes A,B [--name NAME] [--plan PLAN]',
    summary: 'make an API key; it is shown once',
    run: (management, { args, options }) =>
      management.createApiKey({
        owner: first(args, 'the user or client that owns it'),
        name: typeof options.name === 'string' ? options.name : 'made on the command line',
        scopes: names(options.scopes) ?? [],
        ...text('plan', options.plan),
      }),
  },
  'api-key remove': {
    usage: '<id>',
    summary: 'make an API key useless',
    run: (management, { args }) => management.removeApiKey(first(args, 'the id of the key')),
  },
  'keys rotate': {
    usage: '[--alg ES256|RS256] [--compromised]',
    summary: 'sign with a new key from now on; with --compromised the old one is not believed any more',
    run: async (management, { options }) => {
      const asked = options.alg ?? 'ES256'
      if (asked !== 'ES256' && asked !== 'RS256') throw new StartError(`--alg must be ES256 or RS256, not ${asked}`)
      return { alg: asked, kid: await management.rotateKey(asked, options.compromised === true) }
    },
  },
  'recipients resync': {
    usage: '',
    summary: 'tell the notification service about every user again',
    run: async (management) => ({ users: await management.resyncRecipients() }),
  },
}

function first(args: readonly string[], what: string): string {
  const [value] = args
  if (value === undefined) throw new StartError(`${what} is missing`)
  return value
}

function text(name: string, value: string | boolean | undefined): Record<string, string> {
  return typeof value === 'string' ? { [name]: value } : {}
}

function names(value: string | boolean | undefined): string[] | undefined {
  return typeof value === 'string' ? value.split(',').map((part) => part.trim()) : undefined
}

function list(name: string, value: string | boolean | undefined): Record<string, string[]> {
  const given = names(value)
  return given ? { [name]: given } : {}
}
