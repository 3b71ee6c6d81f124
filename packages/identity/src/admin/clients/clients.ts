import {
  changedMembers,
  entityTagOf,
  type Fault,
  Problem,
  preconditionFailed,
  randomToken,
  requireMatch,
  tokenHash,
} from '@gatehouse/kit'
import { calculateJwkThumbprint } from 'jose'
import type { Static } from 'typebox'
import { clientCacheMs } from '../../clients/cache.ts'
import { createLogoMessage } from '../../clients/logo/fetch.ts'
import { findClientFaults, formatMembers, parseMetadata } from '../../clients/registration.ts'
import type { ClientDeclaration, ClientPatch } from '../../config/declarations.ts'
import type { AdminContext } from '../../context/features.ts'
import { type Caller, mayReadPlan } from '../../model/caller.ts'
import { type Client, type ClientMetadata, isPublic, registrationOf } from '../../model/client.ts'
import { revocationTimes } from '../../model/grants/revocation-times.ts'
import { type ClientFilter, type ExpectedClient, NameConflict, type NewClient } from '../../store/index.ts'
import { type Authority, auditChange, requireAuthorityOverClient, requireScopes } from '../authority.ts'
import { requireKnownPlan } from '../limits/plans.ts'
import type { Overlap } from '../overlap.ts'
import type { newClientSchema, secretSchema } from '../responses.ts'
import { requireClientPolicy } from './policy.ts'

export type ClientContext = Pick<AdminContext, 'store' | 'clients' | 'clock'>

/** A client as management returns it; with the secret when it was just created. */
export type ClientResponse = Static<typeof newClientSchema>

function formatClient(client: Client): ClientResponse {
  return {
    client_id: client.id,
    ...formatMembers(client),
    ...(client.plan === undefined ? {} : { plan: client.plan }),
    created_at: new Date(client.createdAt).toISOString(),
    updated_at: new Date(client.updatedAt).toISOString(),
  }
}

/** A client with what changes without an edit: its use, and a secret that was replaced and is still valid. */
function describeClient(client: Client, now: number): ClientResponse {
  const { lastUsedAt, retiringSecrets } = client
  return {
    ...formatClient(client),
    ...(lastUsedAt === undefined ? {} : { last_used_at: new Date(lastUsedAt).toISOString() }),
    ...(retiringSecrets.until > now
      ? { previous_secret_expires_at: new Date(retiringSecrets.until).toISOString() }
      : {}),
  }
}

/** Lists clients in the order of their ids. */
export async function listClients(
  { store, clock }: ClientContext,
  after: string,
  limit: number,
  filter: ClientFilter = {},
): Promise<ClientResponse[]> {
  const now = clock.now()
  return (await store.clients.list(after, limit, filter)).map((client) => describeClient(client, now))
}

/** @throws Problem 404 */
async function readClient({ store }: ClientContext, id: string): Promise<ClientResponse> {
  return formatClient(await findClient(store, id))
}

/** A client and its entity tag, which its use does not change. @throws Problem 404 */
export async function readTaggedClient(
  { store, clock }: ClientContext,
  id: string,
): Promise<{ readonly client: ClientResponse; readonly etag: string }> {
  const client = await findClient(store, id)
  return { client: describeClient(client, clock.now()), etag: entityTagOf(formatClient(client)) }
}

/** Reads the plan of a client, for gateways in other processes. @throws Problem 403 for a user, 404 */
export async function readClientPlan(
  context: Pick<AdminContext, 'store' | 'defaultPlan'>,
  caller: Caller,
  id: string,
): Promise<{ readonly id: string; readonly plan: string }> {
  if (!mayReadPlan(caller, id)) throw new Problem(403, 'The plan of a client is read by clients.')
  const { plan = context.defaultPlan } = await findClient(context.store, id)
  return { id, plan }
}

/** Registers a client; without a secret that it needs one is generated. @throws Problem 403, 409, 422, 503 */
export async function createClient(
  context: AdminContext,
  by: Authority,
  declaration: ClientDeclaration,
): Promise<ClientResponse> {
  const { client_id: id, client_secret, plan, ...members } = declaration
  const metadata = parseMetadata(id, members)
  requireNoFaults(findClientFaults(metadata))
  requireScopes(by, metadata.scopes, 'The client would get scopes')
  await requireClientPolicy(context, by, undefined, metadata.policy)
  await requireKnownPlan(context, by, undefined, plan)
  await requireFreeId(context, id)
  const needsSecret = !isPublic(metadata) && !metadata.authMethods.includes('private_key_jwt')
  const secret = client_secret ?? (needsSecret ? randomToken() : undefined)
  const secretHashes = secret === undefined ? [] : [tokenHash(secret)]
  await auditChange(context, by, {
    action: 'clients.create',
    target: target(id),
    after: await auditedMembers({ ...metadata, plan }),
  })
  const messages = metadata.logoUri === undefined ? [] : [createLogoMessage(context, id)]
  await reportConflict(
    context.store.clients.create({ id, plan, metadata, secretHashes, messages }, context.clock.now()),
  )
  context.clients.forget(id)
  if (messages.length > 0) context.signalOutbox()
  return { ...(await readClient(context, id)), ...(secret === undefined ? {} : { client_secret: secret }) }
}

/** A change of a client. */
export interface ClientUpdate extends ClientPatch {
  /** The header If-Match: the client is changed only if it is as it was read. */
  readonly ifMatch?: string | undefined
}

/** Updates members of a client; those left out stay. @throws Problem 403, 404, 409, 412, 422, 503 */
export async function updateClient(
  context: AdminContext,
  by: Authority,
  id: string,
  { ifMatch, ...patch }: ClientUpdate,
): Promise<ClientResponse> {
  const client = await findClient(context.store, id)
  requireAuthorityOverClient(by, client)
  requireNotBuiltIn(context, id)
  requireMatch(ifMatch, entityTagOf(formatClient(client)))
  const { plan = client.plan, ...members } = { ...formatMembers(client), ...patch }
  const metadata = parseMetadata(id, members)
  requireNoFaults(findClientFaults(metadata))
  requireScopes(by, metadata.scopes, 'The client would get scopes')
  await requireClientPolicy(context, by, client.policy, metadata.policy)
  await requireKnownPlan(context, by, client.plan, plan)
  const changes = changedMembers(await auditedMembers(client), await auditedMembers({ ...metadata, plan }))
  await auditChange(context, by, { action: 'clients.update', target: target(id), ...changes })
  const isNewLogo = metadata.logoUri !== undefined && metadata.logoUri !== client.logoUri
  const messages = isNewLogo ? [createLogoMessage(context, id)] : []
  await write(context, registrationOf(client), { id, plan, metadata, secretHashes: undefined, messages }, ifMatch)
  if (isNewLogo) context.signalOutbox()
  return readClient(context, id)
}

/**
 * Creates a new secret. The one before stays valid for the overlap, earlier ones are invalid.
 * @throws Problem 403, 404, 412, 503; 409 for a built-in client or a concurrent change; 422 without a secret
 */
export async function rotateSecret(
  context: AdminContext,
  by: Authority,
  id: string,
  { overlap_seconds: overlapSeconds = 0, ifMatch }: Overlap & Pick<ClientUpdate, 'ifMatch'> = {},
): Promise<Static<typeof secretSchema>> {
  const client = await findClient(context.store, id)
  requireAuthorityOverClient(by, client)
  requireNotBuiltIn(context, id)
  if (isPublic(client) || client.authMethods.includes('private_key_jwt')) {
    throw new Problem(422, 'This client does not authenticate with a secret.')
  }
  requireMatch(ifMatch, entityTagOf(formatClient(client)))
  const secret = randomToken()
  const after = { overlap_seconds: overlapSeconds }
  await auditChange(context, by, { action: 'clients.renew_secret', target: target(id), after })
  const until = context.clock.now() + overlapSeconds * 1000
  const retiringSecrets = overlapSeconds > 0 ? { hashes: client.secretHashes, until } : { hashes: [], until: 0 }
  const { secretHashes } = client
  const expected = { ...registrationOf(client), secretHashes }
  const renewed = { id, ...registrationOf(client), secretHashes: [tokenHash(secret)], retiringSecrets }
  await write(context, expected, renewed, ifMatch)
  return {
    client_id: id,
    client_secret: secret,
    ...(overlapSeconds > 0 ? { previous_secret_expires_at: new Date(until).toISOString() } : {}),
  }
}

/** Deletes the client; its grants are revoked. @throws Problem 403, 404, 412, 503; 409 for a built-in client */
export async function deleteClient(context: AdminContext, by: Authority, id: string, ifMatch?: string): Promise<void> {
  const client = await findClient(context.store, id)
  requireAuthorityOverClient(by, client)
  requireNotBuiltIn(context, id)
  requireMatch(ifMatch, entityTagOf(formatClient(client)))
  await auditChange(context, by, { action: 'clients.delete', target: target(id), before: await auditedMembers(client) })
  const expected = ifMatch === undefined ? undefined : registrationOf(client)
  const removal = { cachedMs: clientCacheMs, expected }
  const result = await context.store.clients.remove(id, removal, () => revocationTimes(context))
  if (result === 'missing') throw notFound()
  if (result === 'outdated') throw preconditionFailed(entityTagOf(await readClient(context, id)))
  context.clients.forget(id)
}

/** Administrators sign in through it: without it, nobody could undo the change. @throws Problem 409 */
function requireNotBuiltIn({ builtInClients }: AdminContext, id: string): void {
  if (builtInClients.has(id))
    throw new Problem(409, `Administrators sign in with the client ${id}: its secret and its end are for the settings.`)
}

async function write(context: ClientContext, expected: ExpectedClient, to: NewClient, ifMatch?: string): Promise<void> {
  const result = await context.store.clients.update(to, expected, context.clock.now())
  if (result === 'missing') throw notFound()
  if (result === 'outdated' && ifMatch !== undefined)
    throw preconditionFailed(entityTagOf(await readClient(context, to.id)))
  if (result === 'outdated') throw new Problem(409, 'The client was changed at the same time; read it again and retry.')
  context.clients.forget(to.id)
}

const target = (id: string) => ({ type: 'client', id })

/** The members of a client that the audit trail records; of its keys the thumbprints (RFC 7638). */
async function auditedMembers({
  plan,
  ...client
}: ClientMetadata & Pick<Client, 'plan'>): Promise<Record<string, unknown>> {
  const { jwks, ...members } = formatMembers(client)
  const thumbprints = await Promise.all(
    (jwks?.keys ?? []).map((key) => calculateJwkThumbprint(key).catch(() => 'not a key')),
  )
  return { ...members, ...(plan === undefined ? {} : { plan }), ...(jwks === undefined ? {} : { jwks: thumbprints }) }
}

const notFound = () => new Problem(404, 'There is no client with this id.')

/** @throws Problem 404 */
export async function findClient(store: ClientContext['store'], id: string): Promise<Client> {
  const client = await store.clients.find(id)
  if (client === undefined) throw notFound()
  return client
}

function requireNoFaults(errors: readonly Fault[]): void {
  if (errors.length === 0) return
  throw new Problem(422, errors.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; '), { errors })
}

/** Turns a {@link NameConflict} into the response 409. */
export async function reportConflict<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof NameConflict)) throw error
    const errors = [{ pointer: `/${error.member}`, detail: error.message }]
    throw new Problem(409, `${error.message}.`, { errors })
  }
}

/** Rejects an id that is in use before the change is audited. @throws Problem 409 */
export async function requireFreeId({ store }: Pick<AdminContext, 'store'>, id: string): Promise<void> {
  const owner = await store.subjects.findPlan(id)
  if (owner)
    await reportConflict(Promise.reject(new NameConflict('id', `the id ${id} belongs to another ${owner.kind}`)))
}
