import { randomUUIDv7 } from 'node:crypto'
import { instantOf, Problem, randomToken, tokenHash } from '@gatehouse/kit'
import type { Static } from 'typebox'
import type { Parts } from '../parts.ts'
import type { ApiKey } from '../store.ts'
import type { newApiKeyAnswer } from './answers.ts'

type KeyParts = Pick<Parts, 'store' | 'clock'>

export interface NewApiKey {
  readonly owner: string
  readonly name: string
  readonly scopes?: readonly string[]
  readonly plan?: string
  readonly expires_at?: string
}

/** An API key as management shows it; the key itself is there once, when it was made. */
export type ApiKeyAnswer = Static<typeof newApiKeyAnswer>

function answerOf(key: ApiKey): ApiKeyAnswer {
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

/** Makes a key for a user or a client. @throws Problem 422 for an unknown owner or an end that is over */
export async function createApiKey({ store, clock }: KeyParts, asked: NewApiKey): Promise<ApiKeyAnswer> {
  const createdAt = clock.now()
  const expiresAt = asked.expires_at === undefined ? undefined : instantOf(asked.expires_at, '/expires_at')
  if ((await store.subjects.planOf(asked.owner)) === undefined) {
    throw new Problem(422, 'owner is neither a user nor a client.', {
      errors: [{ pointer: '/owner', detail: 'must be the id of a user or a client' }],
    })
  }
  if (expiresAt !== undefined && !(expiresAt > createdAt)) {
    throw new Problem(422, 'expires_at is over.', { errors: [{ pointer: '/expires_at', detail: 'must lie ahead' }] })
  }
  const { owner, name, scopes = [], plan } = asked
  const record: ApiKey = { id: randomUUIDv7(), owner, name, scopes, plan, createdAt, expiresAt }
  const key = `gk_${randomToken()}`
  await store.apiKeys.create(record, tokenHash(key))
  return { ...answerOf(record), key }
}

export async function listApiKeys({ store }: KeyParts, after: string, most: number): Promise<ApiKeyAnswer[]> {
  return (await store.apiKeys.list(after, most)).map(answerOf)
}

/** @throws Problem 404 */
export async function removeApiKey({ store }: KeyParts, id: string): Promise<void> {
  if (!/^[0-9a-f-]{36}$/.test(id) || !(await store.apiKeys.remove(id))) {
    throw new Problem(404, 'There is no API key with this id.')
  }
}

/** Whose key it is and what it may; undefined for one that is unknown, over, removed, or of a locked user. */
export interface ResolvedApiKey {
  readonly id: string
  readonly owner: string
  /** What the owner is: the key has that one's reach, no more. */
  readonly kind: 'user' | 'client'
  readonly scopes: readonly string[]
  readonly plan: string
}

/** Finds out about a key that came as X-API-Key. Its plan is its own, else its owner's. */
export async function resolveApiKey(
  { store, clock, defaultPlan }: KeyParts & Pick<Parts, 'defaultPlan'>,
  key: string,
): Promise<ResolvedApiKey | undefined> {
  if (!/^gk_[\w-]{43}$/.test(key)) return undefined
  const found = await store.apiKeys.findByHash(tokenHash(key), clock.now())
  const owner = found && (await store.subjects.planOf(found.owner))
  if (found === undefined || owner === undefined) return undefined
  const { id, scopes, plan = owner.plan ?? defaultPlan } = found
  return { id, owner: found.owner, kind: owner.kind, scopes, plan }
}
