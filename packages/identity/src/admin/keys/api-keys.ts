import { randomUUIDv7 } from 'node:crypto'
import { instantOf, Problem, randomToken, tokenHash } from '@gatehouse/kit'
import type { Static } from 'typebox'
import type { AdminContext } from '../../context/features.ts'
import { isManagementScope, scopesOfRoles, withIncludedScopes } from '../../model/management-roles.ts'
import { isServiceScope } from '../../model/service-scopes.ts'
import type { ApiKey } from '../../store/index.ts'
import {
  type Authority,
  auditChange,
  requireAuthorityOverClient,
  requireAuthorityOverUser,
  requireScopes,
} from '../authority.ts'
import type { newApiKeySchema } from '../responses.ts'

type KeyContext = Pick<AdminContext, 'store' | 'clock'>

/** The members of a new API key. */
export interface NewApiKey {
  readonly owner: string
  readonly name: string
  readonly scopes?: readonly string[]
  readonly plan?: string
  readonly expires_at?: string
}

/** An API key as management returns it; the key itself only when it was created. */
export type ApiKeyResponse = Static<typeof newApiKeySchema>

function formatApiKey(key: ApiKey): ApiKeyResponse {
  return {
    id: key.id,
    owner: key.owner,
    name: key.name,
    scopes: [...key.scopes],
    ...(key.plan === undefined ? {} : { plan: key.plan }),
    created_at: new Date(key.createdAt).toISOString(),
    ...(key.expiresAt === undefined ? {} : { expires_at: new Date(key.expiresAt).toISOString() }),
  }
}

/**
 * Creates a key for a user or a client. Its creator can act as the owner, so they must be allowed to change the owner.
 * @throws Problem 403, 503; 422 for an unknown owner, a client that only signs users in, scopes that the owner can't have, or an expiry in the past
 */
export async function createApiKey(context: AdminContext, by: Authority, request: NewApiKey): Promise<ApiKeyResponse> {
  const createdAt = context.clock.now()
  const expiresAt = request.expires_at === undefined ? undefined : instantOf(request.expires_at, '/expires_at')
  const { owner, name, scopes = [], plan } = request
  const found = await findOwner(context, owner)
  if (found === undefined) rejectMember('/owner', 'must be the id of a user or a client')
  if (expiresAt !== undefined && !(expiresAt > createdAt)) rejectMember('/expires_at', 'must be in the future')
  const excess = scopes.filter((scope) => !found.mayHaveScope(scope))
  if (excess.length > 0) rejectMember('/scopes', `must be among the owner's scopes, unlike ${excess.join(', ')}`)
  if (by.actor.subject !== owner) found.requireAuthority(by)
  if (!found.actsItself)
    rejectMember('/owner', 'must be a user or a client with the grant client_credentials: this one only signs users in')
  requireScopes(by, scopes, 'The key would get scopes')
  const key: ApiKey = { id: randomUUIDv7(), owner, name, scopes, plan, createdAt, expiresAt }
  const { id: _id, created_at: _at, ...after } = formatApiKey(key)
  await auditChange(context, by, { action: 'api_keys.create', target: target(key.id), after })
  const shownOnce = `gk_${randomToken()}`
  await context.store.apiKeys.create(key, tokenHash(shownOnce))
  return { ...formatApiKey(key), key: shownOnce }
}

function rejectMember(pointer: string, detail: string): never {
  throw new Problem(422, `${pointer} ${detail}.`, { errors: [{ pointer, detail }] })
}

const target = (id: string) => ({ type: 'api_key', id })

interface Owner {
  readonly plan: string | undefined
  readonly kind: 'user' | 'client'
  /** Whether it can act by itself; a client that only signs users in cannot, nor can its keys. */
  readonly actsItself: boolean
  /** Whether a key of this owner may have the scope now. */
  mayHaveScope(scope: string): boolean
  /** @throws Problem 403 for a caller who may not change the owner */
  requireAuthority(by: Authority): void
}

/** The scope that sends mails with links into accounts; no key may have it. */
const reservedMailScope = 'write:reserved-mails'

/**
 * A user may have management scopes by their roles, and no scope between services; a client the scopes that it is
 * registered for, except the mails of identity.
 */
async function findOwner({ store }: Pick<AdminContext, 'store'>, id: string): Promise<Owner | undefined> {
  const user = await store.users.find(id)
  if (user) {
    const allowed = scopesOfRoles(user.roles)
    return {
      plan: user.plan,
      kind: 'user',
      actsItself: true,
      mayHaveScope: (scope) => (isManagementScope(scope) ? allowed.has(scope) : !isServiceScope(scope)),
      requireAuthority: (by) => requireAuthorityOverUser(by, user),
    }
  }
  const client = await store.clients.find(id)
  return (
    client && {
      plan: client.plan,
      kind: 'client',
      actsItself: client.grantTypes.includes('client_credentials'),
      mayHaveScope: (scope) => scope !== reservedMailScope && withIncludedScopes(client.scopes).has(scope),
      requireAuthority: (by) => requireAuthorityOverClient(by, client),
    }
  )
}

/** Lists API keys, the newest first. */
export async function listApiKeys(
  { store }: KeyContext,
  before: string | undefined,
  limit: number,
): Promise<ApiKeyResponse[]> {
  return (await store.apiKeys.list(before, limit)).map(formatApiKey)
}

/** @throws Problem 403, 404, 503 */
export async function deleteApiKey(context: AdminContext, by: Authority, id: string): Promise<void> {
  const key = /^[0-9a-f-]{36}$/.test(id) ? await context.store.apiKeys.find(id) : undefined
  if (key === undefined) throw notFound()
  if (by.actor.subject !== key.owner) (await findOwner(context, key.owner))?.requireAuthority(by)
  const { id: _id, created_at: _at, ...before } = formatApiKey(key)
  await auditChange(context, by, { action: 'api_keys.delete', target: target(id), before })
  if (!(await context.store.apiKeys.remove(id))) throw notFound()
}

const notFound = () => new Problem(404, 'There is no API key with this id.')

/** The owner and the scopes of an API key. Unknown, expired and deleted keys and those of locked users have none. */
export interface ResolvedApiKey {
  readonly id: string
  readonly owner: string
  /** The kind of owner: the key has no more access than the owner. */
  readonly kind: 'user' | 'client'
  readonly scopes: readonly string[]
  readonly plan: string
}

/**
 * Resolves a key of the header X-API-Key. Its plan is its own or else the owner's; its scopes are limited to the
 * owner's.
 */
export async function resolveApiKey(
  { store, clock, defaultPlan }: KeyContext & Pick<AdminContext, 'defaultPlan'>,
  key: string,
): Promise<ResolvedApiKey | undefined> {
  if (!/^gk_[\w-]{43}$/.test(key)) return undefined
  const found = await store.apiKeys.findByHash(tokenHash(key), clock.now())
  const owner = found && (await findOwner({ store }, found.owner))
  if (found === undefined || !owner?.actsItself) return undefined
  const { id, plan = owner.plan ?? defaultPlan } = found
  return { id, owner: found.owner, kind: owner.kind, scopes: found.scopes.filter(owner.mayHaveScope), plan }
}
