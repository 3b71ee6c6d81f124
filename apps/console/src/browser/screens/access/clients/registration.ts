import type { OAuthClient } from '@gatehouse/client'
import type { InputOf } from '../../../../actions/index.ts'

/** What a client is for: each needs other settings. */
export const clientKinds = ['web', 'page', 'mobile', 'service', 'device', 'api'] as const
/** One of {@link clientKinds}. */
export type ClientKind = (typeof clientKinds)[number]

/** The fields of the form of a client. Lists of addresses are lines of a text. */
export interface ClientValues {
  readonly client_name: string
  readonly redirect_uris: string
  readonly post_logout_redirect_uris: string
  readonly allowed_origins: string
  readonly backchannel_logout_uri: string
  readonly scopes: string[]
  readonly plan: string
  readonly policy: string
  readonly require_pkce: boolean
  readonly require_pushed_authorization_requests: boolean
  readonly skip_consent: boolean
  readonly first_party: boolean
  readonly may_introspect: boolean
}

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

interface KindFacts {
  readonly method: 'none' | 'client_secret_basic'
  readonly grants: readonly NonNullable<InputOf<'createClient'>['grant_types']>[number][]
  readonly scopes: readonly string[]
}

const signIn = ['authorization_code', 'refresh_token'] as const
const facts: Readonly<Record<ClientKind, KindFacts>> = {
  web: { method: 'client_secret_basic', grants: signIn, scopes: ['openid', 'profile', 'email', 'offline_access'] },
  page: { method: 'none', grants: signIn, scopes: ['openid', 'profile', 'email'] },
  mobile: { method: 'none', grants: signIn, scopes: ['openid', 'profile', 'email', 'offline_access'] },
  service: { method: 'client_secret_basic', grants: ['client_credentials'], scopes: [] },
  device: { method: 'none', grants: [deviceGrant, 'refresh_token'], scopes: ['openid', 'offline_access'] },
  api: { method: 'client_secret_basic', grants: ['client_credentials'], scopes: [] },
}

/** Whether users sign in with clients of a kind, at an address that they come back to. */
export function hasRedirects(kind: ClientKind): boolean {
  return facts[kind].grants.includes('authorization_code')
}

/** Whether clients of a kind are given a secret. */
export function hasSecret(kind: ClientKind): boolean {
  return facts[kind].method !== 'none'
}

/** The settings of a new client of a kind, before its owner says more. */
export function newValues(kind: ClientKind): ClientValues {
  return { ...emptyValues, scopes: [...facts[kind].scopes], may_introspect: kind === 'api' }
}

const emptyValues: ClientValues = {
  client_name: '',
  redirect_uris: '',
  post_logout_redirect_uris: '',
  allowed_origins: '',
  backchannel_logout_uri: '',
  scopes: [],
  plan: '',
  policy: '',
  require_pkce: true,
  require_pushed_authorization_requests: false,
  skip_consent: false,
  first_party: false,
  may_introspect: false,
}

/** The registration of a new client. */
export function registrationOf(kind: ClientKind, id: string, values: ClientValues): InputOf<'createClient'> {
  const { method, grants } = facts[kind]
  const { policy, ...members } = membersOf(values, newValues(kind))
  return {
    client_id: id,
    token_endpoint_auth_method: method,
    grant_types: [...grants],
    ...members,
    ...(typeof policy === 'string' ? { policy } : {}),
    scopes: tidyScopes(values.scopes),
    ...(values.may_introspect ? { may_introspect: true } : {}),
  }
}

/** An id for a client of this name. */
export function idFor(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
  return plain.replace(/^-+|-+$/g, '').slice(0, 60)
}

/** The fields of the form of a client that is there. */
export function valuesOf(client: OAuthClient): ClientValues {
  const text = (lines: readonly string[] | undefined) => (lines ?? []).join('\n')
  return {
    client_name: client.client_name ?? '',
    redirect_uris: text(client.redirect_uris),
    post_logout_redirect_uris: text(client.post_logout_redirect_uris),
    allowed_origins: text(client.allowed_origins),
    backchannel_logout_uri: client.backchannel_logout_uri ?? '',
    scopes: [...(client.scopes ?? [])],
    plan: client.plan ?? '',
    policy: client.policy ?? '',
    require_pkce: client.require_pkce !== false,
    require_pushed_authorization_requests: client.require_pushed_authorization_requests === true,
    skip_consent: client.skip_consent === true,
    first_party: client.first_party === true,
    may_introspect: client.may_introspect === true,
  }
}

const lists: ReadonlySet<string> = new Set(['redirect_uris', 'post_logout_redirect_uris', 'allowed_origins'])

/** The members that differ from `base`, as the API takes them. */
export function membersOf(values: ClientValues, base: ClientValues): Omit<InputOf<'updateClient'>, 'id'> {
  const names = Object.keys(values) as (keyof ClientValues)[]
  const changed = names.filter((name) => JSON.stringify(values[name]) !== JSON.stringify(base[name]))
  return Object.fromEntries(
    changed.map((name) => {
      if (name === 'policy') return [name, values.policy === '' ? null : values.policy]
      if (name === 'scopes') return [name, tidyScopes(values.scopes)]
      return [name, lists.has(name) ? linesOf(values[name] as string) : values[name]]
    }),
  )
}

/** Scopes as they are registered: each once, without the spaces that were typed around them. */
export function tidyScopes(scopes: readonly string[]): string[] {
  return [...new Set(scopes.flatMap((scope) => scope.split(/\s+/)).filter((scope) => scope !== ''))]
}

/** The lines of a text that are not empty. */
function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

/** A setting that makes a client less safe. */
export type Risk = 'noPkce' | 'skipsConsent' | 'introspects' | 'sharedScheme' | 'plainHttp' | 'administers'

/** What is risky about a client, for the page that says why. */
export function risksOf(client: OAuthClient): Risk[] {
  const { redirect_uris: redirects = [], scopes = [] } = client
  const found: Record<Risk, boolean> = {
    noPkce: client.require_pkce === false,
    skipsConsent: client.skip_consent === true || client.first_party === true,
    introspects: client.may_introspect === true,
    sharedScheme: client.allow_dotless_redirect_schemes === true,
    plainHttp: redirects.some((uri) => /^http:\/\/(?!localhost[:/]|127\.0\.0\.1[:/]|\[::1\][:/])/.test(uri)),
    administers: scopes.some((scope) => scope.startsWith('admin:')),
  }
  return (Object.keys(found) as Risk[]).filter((risk) => found[risk])
}
