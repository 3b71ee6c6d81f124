import { changedMembers, type Fault, Problem, randomToken, tokenHash } from '@gatehouse/kit'
import { calculateJwkThumbprint } from 'jose'
import type { Static } from 'typebox'
import { clientMemoryMs } from '../../clients/cache.ts'
import { faultsOfClient, membersOf, metadataOf } from '../../clients/registration.ts'
import type { ClientDeclaration, ClientPatch } from '../../config/declarations.ts'
import type { Parts } from '../../context/context.ts'
import { type Client, type ClientMetadata, isPublic } from '../../model/client.ts'
import { revocationTimes } from '../../model/revocation-times.ts'
import { NameTaken, type NewClient } from '../../store/index.ts'
import { type Authority, record, refuseLackedScopes, refuseUnlessOverClient } from '../authority.ts'
import type { newClientAnswer } from '../responses.ts'

type ClientParts = Pick<Parts, 'store' | 'clients' | 'clock'>

/** A client as management shows it; the secret is there when it was made just now, this once. */
export type ClientAnswer = Static<typeof newClientAnswer>

function answerOf(client: Client): ClientAnswer {
  return {
    client_id: client.id,
    ...membersOf(client),
    ...(client.plan === undefined ? {} : { plan: client.plan }),
    created_at: new Date(client.createdAt).toISOString(),
    updated_at: new Date(client.updatedAt).toISOString(),
  }
}

export async function listClients({ store }: ClientParts, after: string, most: number): Promise<ClientAnswer[]> {
  return (await store.clients.list(after, most)).map(answerOf)
}

/** @throws Problem 404 */
export async function readClient({ store }: ClientParts, id: string): Promise<ClientAnswer> {
  return answerOf(await find(store, id))
}

/** The tier of a client, for gateways in other processes. @throws Problem 404 */
export async function readClientPlan(parts: Pick<Parts, 'store' | 'defaultPlan'>, id: string) {
  const { plan = parts.defaultPlan } = await find(parts.store, id)
  return { id, plan }
}

/** Registers a client; a secret that is needed and not given is made. @throws Problem 403, 409, 422, 503 */
export async function createClient(parts: Parts, by: Authority, declaration: ClientDeclaration): Promise<ClientAnswer> {
  const { client_id: id, client_secret, plan, ...members } = declaration
  const metadata = metadataOf(id, members)
  refuse(faultsOfClient(metadata))
  refuseLackedScopes(by, metadata.scopes, 'The client would have scopes')
  await refuseTakenId(parts, id)
  const needsSecret = !isPublic(metadata) && !metadata.authMethods.includes('private_key_jwt')
  const secret = client_secret ?? (needsSecret ? randomToken() : undefined)
  const secretHashes = secret === undefined ? [] : [tokenHash(secret)]
  await record(parts, by, {
    action: 'clients.create',
    target: target(id),
    after: await recorded({ ...metadata, plan }),
  })
  await orConflict(parts.store.clients.create({ id, plan, metadata, secretHashes }, parts.clock.now()))
  parts.clients.forget(id)
  return { ...(await readClient(parts, id)), ...(secret === undefined ? {} : { client_secret: secret }) }
}

/** Changes members of a client; those left out stay. @throws Problem 403, 404, 409, 422, 503 */
export async function changeClient(parts: Parts, by: Authority, id: string, patch: ClientPatch): Promise<ClientAnswer> {
  const client = await find(parts.store, id)
  refuseUnlessOverClient(by, client)
  const { plan = client.plan, ...members } = { ...membersOf(client), ...patch }
  const metadata = metadataOf(id, members)
  refuse(faultsOfClient(metadata))
  refuseLackedScopes(by, metadata.scopes, 'The client would have scopes')
  const changes = changedMembers(await recorded(client), await recorded({ ...metadata, plan }))
  await record(parts, by, { action: 'clients.update', target: target(id), ...changes })
  await write(parts, client, { id, plan, metadata, secretHashes: undefined })
  return readClient(parts, id)
}

/** Makes a new secret; the ones before it stop working. @throws Problem 403, 404, 409, 503; 422 without a secret */
export async function renewSecret(
  parts: Parts,
  by: Authority,
  id: string,
): Promise<{ client_id: string; client_secret: string }> {
  const client = await find(parts.store, id)
  refuseUnlessOverClient(by, client)
  if (isPublic(client) || client.authMethods.includes('private_key_jwt')) {
    throw new Problem(422, 'This client authenticates without a secret.')
  }
  const secret = randomToken()
  await record(parts, by, { action: 'clients.renew_secret', target: target(id) })
  const { plan, metadata } = registrationOf(client)
  await write(parts, client, { id, plan, metadata, secretHashes: [tokenHash(secret)] })
  return { client_id: id, client_secret: secret }
}

/** Deletes the client; what it was granted ends at once. @throws Problem 403, 404, 503 */
export async function removeClient(parts: Parts, by: Authority, id: string): Promise<void> {
  const client = await find(parts.store, id)
  refuseUnlessOverClient(by, client)
  await record(parts, by, { action: 'clients.delete', target: target(id), before: await recorded(client) })
  const end = revocationTimes(parts)
  if (!(await parts.store.clients.remove(id, end.now + clientMemoryMs, end))) throw missing()
  parts.clients.forget(id)
}

async function write(parts: ClientParts, from: Client, to: NewClient): Promise<void> {
  const result = await parts.store.clients.update(to, registrationOf(from), parts.clock.now())
  if (result === 'missing') throw missing()
  if (result === 'outdated') throw new Problem(409, 'The client was changed at the same time; read it and try again.')
  parts.clients.forget(to.id)
}

function registrationOf({
  id: _id,
  plan,
  secretHashes: _hashes,
  createdAt: _at,
  updatedAt: _then,
  ...metadata
}: Client) {
  return { plan, metadata }
}

const target = (id: string) => ({ type: 'client', id })

/** What the audit trail keeps of a client: of its keys the thumbprints (RFC 7638), which tell them apart. */
async function recorded({ plan, ...client }: ClientMetadata & Pick<Client, 'plan'>): Promise<Record<string, unknown>> {
  const { jwks, ...members } = membersOf(client)
  const thumbprints = await Promise.all(
    (jwks?.keys ?? []).map((key) => calculateJwkThumbprint(key).catch(() => 'not a key')),
  )
  return { ...members, ...(plan === undefined ? {} : { plan }), ...(jwks === undefined ? {} : { jwks: thumbprints }) }
}

const missing = () => new Problem(404, 'There is no client with this id.')

async function find(store: ClientParts['store'], id: string): Promise<Client> {
  const client = await store.clients.find(id)
  if (client === undefined) throw missing()
  return client
}

function refuse(errors: readonly Fault[]): void {
  if (errors.length === 0) return
  throw new Problem(422, errors.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; '), { errors })
}

/** A name that is taken is a conflict. */
export async function orConflict<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof NameTaken)) throw error
    const errors = [{ pointer: `/${error.member}`, detail: error.message }]
    throw new Problem(409, `${error.message}.`, { errors })
  }
}

/** A name that is taken already leaves no event of something that could not be. @throws Problem 409 */
export async function refuseTakenId({ store }: Pick<Parts, 'store'>, id: string): Promise<void> {
  const taken = await store.subjects.planOf(id)
  if (taken) await orConflict(Promise.reject(new NameTaken('id', `the id ${id} belongs to another ${taken.kind}`)))
}
