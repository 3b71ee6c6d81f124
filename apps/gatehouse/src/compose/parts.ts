import type { IncomingMessage } from 'node:http'
import type { ServiceToken } from '@gatehouse/bearer'
import type { Identity } from '@gatehouse/identity'
import type { Clock, Log, RecordChange, Registry } from '@gatehouse/kit'
import type { Config } from '../config/config.ts'
import type { Seeded } from '../process/banner.ts'

/** Lets go of something that was opened; called in the reverse order of opening. */
export type Dispose = () => Promise<unknown>

/** What every service is composed from. */
export interface Parts {
  readonly config: Config
  readonly log: Log
  readonly metrics: Registry
  readonly clock: Clock
  /** Whom a request comes from. */
  readonly addressOf: (raw: IncomingMessage) => string
  /** The tokens by which this process calls the services in others. */
  readonly token: ServiceToken | undefined
  /** Keeps the audit trail of what the management of a service changes. */
  readonly recordChange: RecordChange
  /** Whoever opens something adds how to let go of it. */
  readonly resources: Dispose[]
}

type SeededClient = Extract<Identity['seeded'][number], { kind: 'client' }>['declaration']

function describeClient({
  token_endpoint_auth_method: method,
  redirect_uris: callbacks = [],
  scopes = [],
}: SeededClient): string {
  if (method !== 'none') return `confidential; scopes ${scopes.join(' ')}`
  return callbacks.length > 0 ? `public; callback ${callbacks.join(' ')}` : 'public; connects by device code'
}

/** An administrator is named as one: the role is worth more than the password tells. */
function describeUser(roles: readonly string[]): string {
  const administers = roles.filter((role) => role.startsWith('gatehouse-'))
  return ['signs in with name and password', ...administers.map((role) => `administers as ${role}`)].join('; ')
}

/** What the first run created, in the words of the banner. */
export function seededLines(seeded: Identity['seeded']): Seeded[] {
  return seeded.map((made) => {
    const secret = made.secret ? { secret: made.secret } : {}
    if (made.kind === 'user') return { kind: 'user', id: made.id, detail: describeUser(made.roles), ...secret }
    return { kind: 'client', id: made.id, detail: describeClient(made.declaration), ...secret }
  })
}
