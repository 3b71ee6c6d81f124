/** The kinds of connections: any OpenID Connect issuer, and providers with rules of their own. */
export const connectionKinds = ['oidc', 'google', 'microsoft', 'apple', 'github'] as const

/** A kind of connection. */
export type ConnectionKind = (typeof connectionKinds)[number]

/** Claims about a user that a connection may provide. */
export const mappedClaims = ['name', 'given_name', 'family_name', 'picture', 'locale'] as const

/** A claim that a connection may provide. */
export type MappedClaim = (typeof mappedClaims)[number]

/** The settings of a connection that are not secret, as they are declared. */
export interface ConnectionSettings {
  readonly kind: ConnectionKind
  readonly name?: string
  readonly enabled?: boolean
  readonly hidden?: boolean
  readonly link_only?: boolean
  readonly issuer?: string
  readonly client_id: string
  readonly token_endpoint_auth_method?: 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'
  readonly tenants?: readonly string[]
  readonly hosted_domain?: string
  readonly team_id?: string
  readonly key_id?: string
  readonly scopes?: readonly string[]
  readonly create_users?: boolean
  readonly trust_email?: boolean
  readonly authoritative_domains?: readonly string[]
  readonly domains?: readonly string[]
  readonly organization?: string
  readonly required?: boolean
  readonly add_members?: boolean
  readonly member_roles?: readonly string[]
  readonly logout?: 'local' | 'upstream'
  readonly claim_names?: Readonly<Partial<Record<MappedClaim, string>>>
}

/** A connection to another identity provider. Times are Unix milliseconds. */
export interface Connection {
  readonly id: string
  readonly settings: ConnectionSettings
  /** Its secrets, sealed; undefined when it has none. */
  readonly secretSealed: string | undefined
  readonly createdAt: number
  readonly updatedAt: number
}

/** The name of each kind, on buttons. */
const kindNames: Readonly<Record<ConnectionKind, string>> = {
  oidc: 'OpenID Connect',
  google: 'Google',
  microsoft: 'Microsoft',
  apple: 'Apple',
  github: 'GitHub',
}

/** The name that users see. */
export function connectionName({ settings }: Pick<Connection, 'settings'>): string {
  return settings.name ?? kindNames[settings.kind]
}

/** Whether users may use it: a disabled connection refuses everything. */
export function isEnabled({ settings }: Pick<Connection, 'settings'>): boolean {
  return settings.enabled ?? true
}

/** Whether it may sign users in; a connection that only links may not. */
export function maySignIn(connection: Pick<Connection, 'settings'>): boolean {
  return isEnabled(connection) && connection.settings.link_only !== true
}

/** Whether signing out here signs out at the provider too. */
export function signsOutThere(connection: Pick<Connection, 'settings'>): boolean {
  return isEnabled(connection) && connection.settings.logout === 'upstream'
}

/** The path that the provider sends the browser back to. Each connection has its own (RFC 9700 §4.4.2.2). */
export function callbackPath(connectionId: string): string {
  return `/login/providers/${connectionId}/callback`
}

/** The path where the provider says that a session ended there (OpenID Connect Back-Channel Logout §2.5). */
export function backChannelLogoutPath(connectionId: string): string {
  return `/login/providers/${connectionId}/logout`
}

/** The path that a provider sends the browser back to after it was signed out there. */
export const afterProviderLogoutPath = '/end_session/return'
