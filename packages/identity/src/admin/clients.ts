import { type Fault, Problem, randomToken, tokenHash } from '@gatehouse/kit'
import type { Static } from 'typebox'
import { type Client, isPublic } from '../client.ts'
import { clientMemoryMs } from '../client-directory.ts'
import { faultsOfClient, membersOf, metadataOf } from '../client-registration.ts'
import type { ClientDeclaration, ClientPatch } from '../declarations.ts'
import type { Parts } from '../parts.ts'
import { revocationTimes } from '../revocation-times.ts'
import { NameTaken } from '../store.ts'
import type { newClientAnswer } from './answers.ts'

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

/** Registers a client; a secret that is needed and not given is made. @throws Problem 409, 422 */
export async function createClient(parts: ClientParts, declaration: ClientDeclaration): Promise<ClientAnswer> {
  const { client_id: id, client_secret, plan, ...members } = declaration
  const metadata = metadataOf(id, members)
  refuse(faultsOfClient(metadata))
  const needsSecret = !isPublic(metadata) && !metadata.authMethods.includes('private_key_jwt')
  const secret = client_secret ?? (needsSecret ? randomToken() : undefined)
  const secretHashes = secret === undefined ? [] : [tokenHash(secret)]
  await orConflict(parts.store.clients.create({ id, plan, metadata, secretHashes }, parts.clock.now()))
  parts.clients.forget(id)
  return { ...(await readClient(parts, id)), ...(secret === undefined ? {} : { client_secret: secret }) }
}

/** Changes members of a client; those left out stay. @throws Problem 404, 422 */
export async function changeClient(parts: ClientParts, id: string, patch: ClientPatch): Promise<ClientAnswer> {
  const client = await find(parts.store, id)
  const { plan = client.plan, ...members } = { ...membersOf(client), ...patch }
  const metadata = metadataOf(id, members)
  refuse(faultsOfClient(metadata))
  if (!(await parts.store.clients.update({ id, plan, metadata, secretHashes: undefined }, parts.clock.now())))
    throw missing()
  parts.clients.forget(id)
  return readClient(parts, id)
}

/** Makes a new secret; the ones before it stop working. @throws Problem 404, 422 for a client that has none */
export async function renewSecret(
  parts: ClientParts,
  id: string,
): Promise<{ client_id: string; client_secret: string }> {
  const { plan, ...client } = await find(parts.store, id)
  if (isPublic(client) || client.authMethods.includes('private_key_jwt')) {
    throw new Problem(422, 'This client authenticates without a secret.')
  }
  const secret = randomToken()
  const metadata = metadataOf(id, membersOf(client))
  const renewed = { id, plan, metadata, secretHashes: [tokenHash(secret)] }
  if (!(await parts.store.clients.update(renewed, parts.clock.now()))) throw missing()
  parts.clients.forget(id)
  return { client_id: id, client_secret: secret }
}

/** Deletes the client; what it was granted ends at once. @throws Problem 404 */
export async function removeClient(parts: ClientParts, id: string): Promise<void> {
  const end = revocationTimes(parts)
  if (!(await parts.store.clients.remove(id, end.now + clientMemoryMs, end))) throw missing()
  parts.clients.forget(id)
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
