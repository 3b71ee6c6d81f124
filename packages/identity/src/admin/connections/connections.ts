import { changedMembers, entityTagOf, type Fault, Problem, preconditionFailed, requireMatch } from '@gatehouse/kit'
import type { Static } from 'typebox'
import type { ConnectionDeclaration, ConnectionPatch } from '../../config/connections.ts'
import { redirectUri } from '../../connections/authorization.ts'
import { findConnectionFaults } from '../../connections/faults.ts'
import { openSecrets, sealSecrets, splitSecrets } from '../../connections/secrets.ts'
import type { AdminContext } from '../../context/features.ts'
import { afterProviderLogoutPath, backChannelLogoutPath, type Connection } from '../../model/connection.ts'
import { OrganizationConflict } from '../../store/index.ts'
import { type Authority, auditChange } from '../authority.ts'
import type { connectionSchema } from '../responses.ts'

/** A connection as management returns it: without its secrets. */
export type ConnectionResponse = Static<typeof connectionSchema>

function formatConnection({ issuer }: AdminContext, connection: Connection): ConnectionResponse {
  const { id, settings, createdAt, updatedAt } = connection
  return {
    id,
    ...settings,
    callback_uri: redirectUri(issuer, id),
    backchannel_logout_uri: `${issuer}${backChannelLogoutPath(id)}`,
    post_logout_redirect_uri: `${issuer}${afterProviderLogoutPath}`,
    created_at: new Date(createdAt).toISOString(),
    updated_at: new Date(updatedAt).toISOString(),
  } as ConnectionResponse
}

/** Lists every connection. */
export async function listConnections(context: AdminContext): Promise<ConnectionResponse[]> {
  return (await context.store.connections.list()).map((one) => formatConnection(context, one))
}

/** @throws Problem 404 */
export async function readConnection(context: AdminContext, id: string): Promise<ConnectionResponse> {
  return formatConnection(context, await find(context, id))
}

/** Creates a connection. @throws Problem 409, 422, 503 */
export async function createConnection(
  context: AdminContext,
  by: Authority,
  declaration: ConnectionDeclaration,
): Promise<ConnectionResponse> {
  const { id } = declaration
  requireNoFaults(findConnectionFaults(declaration, context.features.loopbackCalls))
  const { settings, secrets } = splitSecrets(declaration)
  if ((await context.store.connections.find(id)) !== undefined) throw conflict(id)
  await auditChange(context, by, { action: 'connections.create', target: target(id), after: { ...settings } })
  const secretSealed = sealSecrets(context.encryptionKey, id, secrets)
  const created = context.store.connections.create({ id, settings, secretSealed }, context.clock.now())
  if ((await reportConflict(created)) === 'conflict') throw conflict(id)
  await context.connections.refresh()
  return readConnection(context, id)
}

/** A change of a connection. */
export interface ConnectionUpdate extends ConnectionPatch {
  /** The header If-Match: the connection is changed only if it is as it was read. */
  readonly ifMatch?: string | undefined
}

/** Updates members of a connection; those left out stay. @throws Problem 404, 409, 412, 422, 503 */
export async function updateConnection(
  context: AdminContext,
  by: Authority,
  id: string,
  { ifMatch, ...patch }: ConnectionUpdate,
): Promise<ConnectionResponse> {
  const connection = await find(context, id)
  requireMatch(ifMatch, entityTagOf(formatConnection(context, connection)))
  const before = openSecrets(context.encryptionKey, connection)
  const next = { id, ...connection.settings, ...before, ...patch } as ConnectionDeclaration
  requireNoFaults(findConnectionFaults(next, context.features.loopbackCalls))
  const { settings, secrets } = splitSecrets(next)
  const changes = changedMembers({ ...connection.settings }, { ...settings })
  await auditChange(context, by, { action: 'connections.update', target: target(id), ...changes })
  const hasNewSecret = patch.client_secret !== undefined || patch.private_key !== undefined
  const secretSealed = hasNewSecret ? sealSecrets(context.encryptionKey, id, secrets) : undefined
  const written = { id, settings, secretSealed }
  const updated = context.store.connections.update(written, connection, context.clock.now())
  const result = await reportConflict(updated)
  if (result === 'missing') throw notFound()
  if (result === 'outdated' && ifMatch !== undefined)
    throw preconditionFailed(entityTagOf(await readConnection(context, id)))
  if (result === 'outdated')
    throw new Problem(409, 'The connection was changed at the same time; read it again and retry.')
  await context.connections.refresh()
  return readConnection(context, id)
}

/** Deletes a connection and the links of users to it. @throws Problem 404, 503 */
export async function deleteConnection(context: AdminContext, by: Authority, id: string): Promise<void> {
  const { settings } = await find(context, id)
  await auditChange(context, by, { action: 'connections.delete', target: target(id), before: { ...settings } })
  if (!(await context.store.connections.remove(id))) throw notFound()
  await context.connections.refresh()
}

const target = (id: string) => ({ type: 'connection', id })

const notFound = () => new Problem(404, 'There is no connection with this id.')

const conflict = (id: string) => new Problem(409, `The id ${id} belongs to another connection.`)

/** @throws Problem 409 when there is no such organization, or it has another connection */
async function reportConflict<Result>(written: Promise<Result>): Promise<Result> {
  try {
    return await written
  } catch (error) {
    if (!(error instanceof OrganizationConflict)) throw error
    const detail = `${error.message}.`
    throw new Problem(409, detail, { errors: [{ pointer: '/organization', detail }] })
  }
}

async function find({ store }: Pick<AdminContext, 'store'>, id: string): Promise<Connection> {
  const connection = await store.connections.find(id)
  if (connection === undefined) throw notFound()
  return connection
}

function requireNoFaults(errors: readonly Fault[]): void {
  if (errors.length === 0) return
  throw new Problem(422, errors.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; '), { errors })
}
