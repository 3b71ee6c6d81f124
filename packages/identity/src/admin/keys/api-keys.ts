import { randomUUIDv7 } from 'node:crypto'
import {
  entityTagOf,
  instantOf,
  Problem,
  preconditionFailed,
  randomToken,
  requireMatch,
  tokenHash,
} from '@gatehouse/kit'
import type { Static } from 'typebox'
import type { AdminContext } from '../../context/features.ts'
import type { ApiKey, ApiKeyFilter } from '../../store/index.ts'
import { type Authority, auditChange, requireScopes } from '../authority.ts'
import { requireKnownPlan } from '../limits/plans.ts'
import type { Overlap } from '../overlap.ts'
import { findOwner } from './owner.ts'
import type { identifiedKeySchema, newApiKeySchema } from './responses.ts'

type KeyContext = Pick<AdminContext, 'store' | 'clock'>

/** How much of a key is shown: `gk_` and 36 of its 256 bits. */
const prefixLength = 9

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

/** What an edit changes, which the entity tag is of. */
function formatApiKey(key: ApiKey): Omit<ApiKeyResponse, 'etag'> {
  return {
    id: key.id,
    owner: key.owner,
    name: key.name,
    scopes: [...key.scopes],
    ...(key.plan === undefined ? {} : { plan: key.plan }),
    prefix: key.prefix,
    counter_id: key.hash,
    created_at: new Date(key.createdAt).toISOString(),
    ...instants({ expires_at: key.expiresAt, rotated_at: key.rotatedAt }),
  }
}

/** A key with what changes without an edit: its use, and a key that it replaced and that is still valid. */
function describeApiKey(key: ApiKey, now: number): ApiKeyResponse {
  const retiringUntil = key.retiringUntil > now ? key.retiringUntil : undefined
  const shown = formatApiKey(key)
  return {
    ...shown,
    etag: entityTagOf(shown),
    ...instants({ previous_key_expires_at: retiringUntil, last_used_at: key.lastUsedAt }),
  }
}

function instants<Name extends string>(times: Readonly<Record<Name, number | undefined>>): { [Key in Name]?: string } {
  const present = Object.entries<number | undefined>(times).filter(([, time]) => time !== undefined)
  return Object.fromEntries(present.map(([name, time]) => [name, new Date(time as number).toISOString()])) as never
}

function createKey(): { readonly shownOnce: string; readonly hash: string; readonly prefix: string } {
  const shownOnce = `gk_${randomToken()}`
  return { shownOnce, hash: tokenHash(shownOnce), prefix: shownOnce.slice(0, prefixLength) }
}

/** The members of a key that the audit trail records. */
function auditedMembers({ owner, name, scopes, plan, prefix, expiresAt }: ApiKey): Record<string, unknown> {
  return {
    owner,
    name,
    scopes,
    prefix,
    ...(plan === undefined ? {} : { plan }),
    ...instants({ expires_at: expiresAt }),
  }
}

/**
 * Creates a key for a user or a client. Its creator can act as the owner, so they must be allowed to change the owner.
 * @throws Problem 403, 503; 409 for an owner who was deleted, or whose credentials changed, at the same time; 422 for an
 * unknown owner, a client that only signs users in, scopes that the owner can't have, or an expiry in the past
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
  if (by.actor.subject !== owner) await found.requireAuthority(by)
  if (!found.actsItself)
    rejectMember('/owner', 'must be a user or a client with the grant client_credentials: this one only signs users in')
  requireScopes(by, scopes, 'The key would get scopes')
  await requireKnownPlan(context, by, undefined, plan)
  const { shownOnce, hash, prefix } = createKey()
  const unused = { retiringUntil: 0, rotatedAt: undefined, lastUsedAt: undefined }
  const key: ApiKey = { id: randomUUIDv7(), owner, name, scopes, plan, createdAt, expiresAt, hash, prefix, ...unused }
  await auditChange(context, by, { action: 'api_keys.create', target: target(key.id), after: auditedMembers(key) })
  // Read before the grant of the caller was checked: a reset that ended it since ends this key too.
  const seen = by.actor.subject === owner ? by.credentialVersion : found.credentialVersion
  if (!(await context.store.apiKeys.create(key, seen)))
    throw new Problem(
      409,
      'The owner was deleted, or got other credentials, at the same time; read it again and retry.',
    )
  return { ...describeApiKey(key, createdAt), key: shownOnce }
}

function rejectMember(pointer: string, detail: string): never {
  throw new Problem(422, `${pointer} ${detail}.`, { errors: [{ pointer, detail }] })
}

const target = (id: string) => ({ type: 'api_key', id })

/** Lists API keys, the newest first. */
export async function listApiKeys(
  { store, clock }: KeyContext,
  before: string | undefined,
  limit: number,
  filter: ApiKeyFilter = {},
): Promise<ApiKeyResponse[]> {
  const now = clock.now()
  const q = filter.q?.startsWith('gk_') ? filter.q.slice(0, prefixLength) : filter.q
  return (await store.apiKeys.list(before, limit, { ...filter, q })).map((key) => describeApiKey(key, now))
}

/** An API key that was found by itself, and which of its keys it was found by. */
type IdentifiedApiKey = Static<typeof identifiedKeySchema>

/**
 * Finds a key by itself, such as one that was found in a log. It does not count as a use; nothing keeps what was searched
 * for.
 */
export async function findApiKeys({ store, clock }: KeyContext, key: string): Promise<IdentifiedApiKey[]> {
  const hash = tokenHash(key)
  const found = await store.apiKeys.identify(hash)
  if (found === undefined) return []
  const now = clock.now()
  return [{ ...describeApiKey(found, now), matched: matchOf(found, hash, now) }]
}

function matchOf(
  { hash, expiresAt, retiringUntil }: ApiKey,
  presented: string,
  now: number,
): IdentifiedApiKey['matched'] {
  if (expiresAt !== undefined && expiresAt <= now) return 'expired'
  if (hash === presented) return 'current'
  return retiringUntil > now ? 'previous' : 'expired'
}

/** A key and its entity tag, which its use does not change. @throws Problem 404 */
export async function readApiKey(
  { store, clock }: KeyContext,
  id: string,
): Promise<{ readonly key: ApiKeyResponse; readonly etag: string }> {
  const key = await findKey(store, id)
  return { key: describeApiKey(key, clock.now()), etag: entityTagOf(formatApiKey(key)) }
}

/** What a rotation of a key says. */
export interface ApiKeyRotationRequest extends Overlap {
  /** The header If-Match. */
  readonly ifMatch?: string | undefined
}

/**
 * Replaces a key by a new one with the same id, owner and scopes. The one before stays valid for the overlap, earlier ones
 * are invalid.
 * @throws Problem 403, 404, 412, 503; 409 for a concurrent rotation; 422 for a key that has expired
 */
export async function rotateApiKey(
  context: AdminContext,
  by: Authority,
  id: string,
  { overlap_seconds: overlapSeconds = 0, ifMatch }: ApiKeyRotationRequest = {},
): Promise<ApiKeyResponse> {
  const key = await findKey(context.store, id)
  await requireAuthorityOverKey(context, by, key)
  requireScopes(by, key.scopes, 'The key has scopes')
  requireMatch(ifMatch, entityTagOf(formatApiKey(key)))
  const at = context.clock.now()
  if (key.expiresAt !== undefined && key.expiresAt <= at)
    throw new Problem(422, `The key expired at ${new Date(key.expiresAt).toISOString()}: create another one.`)
  const { shownOnce, hash, prefix } = createKey()
  const after = { prefix, overlap_seconds: overlapSeconds }
  await auditChange(context, by, {
    action: 'api_keys.rotate',
    target: target(id),
    before: { prefix: key.prefix },
    after,
  })
  const retiringUntil = overlapSeconds > 0 ? at + overlapSeconds * 1000 : 0
  if (!(await context.store.apiKeys.rotate({ id, expectedHash: key.hash, hash, prefix, at, retiringUntil }))) {
    if (ifMatch !== undefined) throw preconditionFailed((await readApiKey(context, id)).etag)
    throw new Problem(409, 'The key was rotated or deleted at the same time; read it again and retry.')
  }
  return { ...describeApiKey(await findKey(context.store, id), at), key: shownOnce }
}

/** @throws Problem 403, 404, 412, 503 */
export async function deleteApiKey(context: AdminContext, by: Authority, id: string, ifMatch?: string): Promise<void> {
  const key = await findKey(context.store, id)
  await requireAuthorityOverKey(context, by, key)
  requireMatch(ifMatch, entityTagOf(formatApiKey(key)))
  await auditChange(context, by, { action: 'api_keys.delete', target: target(id), before: auditedMembers(key) })
  if (await context.store.apiKeys.remove(id, ifMatch === undefined ? undefined : key.hash)) return
  throw preconditionFailed((await readApiKey(context, id)).etag)
}

async function requireAuthorityOverKey(context: AdminContext, by: Authority, { owner }: ApiKey): Promise<void> {
  if (by.actor.subject !== owner) await (await findOwner(context, owner))?.requireAuthority(by)
}

async function findKey(store: KeyContext['store'], id: string): Promise<ApiKey> {
  const key = /^[0-9a-f-]{36}$/.test(id) ? await store.apiKeys.find(id) : undefined
  if (key === undefined) throw notFound()
  return key
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
  { store, clock, defaultPlan, lastUses }: KeyContext & Pick<AdminContext, 'defaultPlan' | 'lastUses'>,
  key: string,
): Promise<ResolvedApiKey | undefined> {
  if (!/^gk_[\w-]{43}$/.test(key)) return undefined
  const found = await store.apiKeys.findByHash(tokenHash(key), clock.now())
  const owner = found && (await findOwner({ store }, found.owner))
  if (found === undefined || !owner?.actsItself) return undefined
  const { id, plan = owner.plan ?? defaultPlan } = found
  lastUses.add('api_key', id)
  return { id, owner: found.owner, kind: owner.kind, scopes: found.scopes.filter(owner.mayHaveScope), plan }
}
