import { type Management, signingAlgorithms } from '@gatehouse/identity'
import { StartError } from '@gatehouse/kit'
import { type Commands, maxListed } from './command.ts'
import { first, names, overlap, text } from './typed.ts'

/** What is done about API keys, signing keys, and what the notification service knows. */
export const keyCommands: Commands = {
  'api-key list': {
    usage: '',
    summary: 'the API keys',
    run: (management) => management.listApiKeys(undefined, maxListed),
  },
  'api-key add': {
    usage: '<owner> --scopes A,B [--name NAME] [--plan PLAN]',
    summary: 'create an API key of a user or a client; it is shown once',
    run: (management, { args, options }) =>
      management.createApiKey({
        owner: first(args),
        name: typeof options.name === 'string' ? options.name : 'created on the command line',
        scopes: names(options.scopes) ?? [],
        ...text('plan', options.plan),
      }),
  },
  'api-key rotate': {
    usage: '<id> [--overlap SECONDS]',
    summary: 'replace an API key; it is shown once, and the old one stops working, or does after the overlap',
    run: (management, { args, options }) => management.rotateApiKey(first(args), overlap(options)),
  },
  'api-key remove': {
    usage: '<id>',
    summary: 'revoke an API key',
    run: (management, { args }) => management.deleteApiKey(first(args)),
  },
  'keys list': {
    usage: '',
    summary: 'the signing keys, and former ones whose signatures are still valid',
    run: async (management) => management.listSigningKeys(),
  },
  'keys rotate': {
    usage: '[--alg ES256|RS256|PS256|EdDSA] [--compromised]',
    summary:
      'sign with new keys within a minute, of all algorithms or of one; with --compromised at once, and reject the old',
    run: async (management, { options }) => {
      const compromised = options.compromised === true
      const { alg: name } = options
      if (name === undefined) return rotateAll(management, compromised)
      const alg = signingAlgorithms.find((one) => one === name)
      if (alg === undefined) throw new StartError(`--alg must be one of ${signingAlgorithms.join(', ')}, not ${name}`)
      return rotate(management, alg, compromised)
    },
  },
  'keys reseal': {
    usage: '',
    summary: 'encrypt stored secrets with the first key of ENCRYPTION_KEY, and list the keys that may be removed',
    maintain: (maintenance) => maintenance.reseal(),
  },
  'links rotate': {
    usage: '[--compromised]',
    summary:
      'sign links of messages with a new secret within a minute; with --compromised at once, and end all sent before',
    maintain: (maintenance, { options }) => maintenance.rotateLinks(options.compromised === true),
  },
  'recipients resync': {
    usage: '',
    summary: 'send every user to the notification service again',
    run: async (management) => ({ users: await management.resyncRecipients() }),
  },
}

async function rotate(management: Management, alg: (typeof signingAlgorithms)[number], compromised: boolean) {
  return { alg, kid: await management.rotateSigningKey(alg, compromised) }
}

/** Rotates the keys of every algorithm that has one: whoever got at one of them mostly got at all. */
async function rotateAll(management: Management, compromised: boolean) {
  const used = new Set<string>(management.listSigningKeys().map(({ alg }) => alg))
  const made: Awaited<ReturnType<typeof rotate>>[] = []
  for (const alg of signingAlgorithms) if (used.has(alg)) made.push(await rotate(management, alg, compromised))
  return made
}
