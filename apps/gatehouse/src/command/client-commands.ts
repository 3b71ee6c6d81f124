import { ClientDeclaration, ClientPatch } from '@gatehouse/identity'
import { validateInput } from './checked.ts'
import { type Commands, maxListed } from './command.ts'
import { first, list, overlap, someOf, type Typed, text } from './typed.ts'

/** What is done about clients. */
export const clientCommands: Commands = {
  'client list': {
    usage: '',
    summary: 'the registered clients',
    run: (management) => management.listClients('', maxListed),
  },
  'client add': {
    usage: '<id> [--name NAME] [--public] [--grant-types A,B] [--redirect-uris A,B] [--scopes A,B] [--plan PLAN]',
    summary: 'register a client; a secret is generated and shown once',
    run: (management, { args, options }) =>
      management.createClient(
        validateInput(ClientDeclaration, {
          client_id: first(args),
          ...(options.public ? { token_endpoint_auth_method: 'none' as const } : {}),
          ...clientMembers(options),
        }),
      ),
  },
  'client change': {
    usage:
      '<id> [--name NAME] [--grant-types A,B] [--redirect-uris A,B] [--scopes A,B] [--plan PLAN] ' +
      '[--assertion-audience issuer|endpoint]',
    summary: 'change the named options; others stay as they are',
    run: (management, { args, options }) => {
      const id = first(args)
      const audience = text('assertion_audience', options['assertion-audience'])
      return management.updateClient(id, validateInput(ClientPatch, someOf({ ...clientMembers(options), ...audience })))
    },
  },
  'client secret': {
    usage: '<id> [--overlap SECONDS]',
    summary: 'generate a new secret; the old one stops working, or does after the overlap',
    run: (management, { args, options }) => management.rotateSecret(first(args), overlap(options)),
  },
  'client remove': {
    usage: '<id>',
    summary: 'delete a client and revoke its grants',
    run: (management, { args }) => management.deleteClient(first(args)),
  },
}

function clientMembers(options: Typed['options']): object {
  return {
    ...text('client_name', options.name),
    ...list('grant_types', options['grant-types']),
    ...list('redirect_uris', options['redirect-uris']),
    ...list('scopes', options.scopes),
    ...text('plan', options.plan),
  }
}
