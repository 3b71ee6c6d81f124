import { signingAlgorithms } from '@gatehouse/identity'
import { StartError } from '@gatehouse/kit'
import { type Commands, mostListed } from './command.ts'
import { first, names, text } from './typed.ts'

/** What is done about API keys, signing keys, and what the notification service knows. */
export const keyCommands: Commands = {
  'api-key list': {
    usage: '',
    summary: 'the API keys',
    run: (management) => management.listApiKeys('', mostListed),
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
    run: (management, { args }) => management.deleteApiKey(first(args, 'the id of the key')),
  },
  'keys list': {
    usage: '',
    summary: 'the keys that sign, or whose signatures may still be met',
    run: async (management) => management.listSigningKeys(),
  },
  'keys rotate': {
    usage: '[--alg ES256|RS256|PS256|EdDSA] [--compromised]',
    summary: 'sign with a new key in a minute; with --compromised at once, and the old one is not believed any more',
    run: async (management, { options }) => {
      const asked = options.alg ?? 'ES256'
      const alg = signingAlgorithms.find((one) => one === asked)
      if (alg === undefined) throw new StartError(`--alg must be one of ${signingAlgorithms.join(', ')}, not ${asked}`)
      return { alg, kid: await management.rotateSigningKey(alg, options.compromised === true) }
    },
  },
  'keys reseal': {
    usage: '',
    summary: 'seal what is stored with the first key of ENCRYPTION_KEY, and tell which keys may be removed',
    maintain: (maintenance) => maintenance.reseal(),
  },
  'recipients resync': {
    usage: '',
    summary: 'tell the notification service about every user again',
    run: async (management) => ({ users: await management.resyncRecipients() }),
  },
}
