import type { ClientDeclaration } from '@gatehouse/identity'
import { Secret } from '@gatehouse/kit'
import type { Settings } from '../config/config.ts'
import { encryptionKey } from './engines.ts'

/** The secret that the console authenticates with. */
export function consoleSecret(settings: Settings): Secret {
  const [secret] = consoleSecrets(settings)
  return secret
}

/**
 * The secrets of the console that are valid. They are derived from the encryption keys that identity and the console
 * share: nobody has to configure one, and while a key is replaced, processes that put either key first can sign in.
 */
export function consoleSecrets(settings: Settings): readonly [Secret, ...Secret[]] {
  if (settings.console.clientSecret) return [settings.console.clientSecret]
  const [current, ...others] = encryptionKey(settings)
    .derive('gatehouse', 'console client secret')
    .map((derived) => new Secret(derived.toString('base64url')))
  return [current as Secret, ...others]
}

/** Whether the settings say of a console, in this process or another. */
export function namesConsole({ services, console }: Settings): boolean {
  return services.has('console') || console.clientSecret !== undefined
}

/** The registration of the console, where it runs in this process or was named to it. */
export async function consoleClient(settings: Settings): Promise<ClientDeclaration[]> {
  const { console } = settings
  if (!namesConsole(settings)) return []
  const { consoleScopes } = await import('@gatehouse/console')
  return [
    {
      client_id: console.clientId,
      client_name: 'Gatehouse console',
      client_secret: consoleSecret(settings).reveal(),
      redirect_uris: [`${console.url}/console/callback`],
      post_logout_redirect_uris: [`${console.url}/console/signed-out`],
      backchannel_logout_uri: `${console.url}/console/backchannel-logout`,
      scopes: [...consoleScopes],
      require_pushed_authorization_requests: true,
      skip_consent: true,
      organizations: 'none',
    },
  ]
}
