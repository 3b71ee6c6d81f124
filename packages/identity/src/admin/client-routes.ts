import type { Http } from '@gatehouse/kit'
import { ClientDeclaration, ClientPatch } from '../declarations.ts'
import { clientAnswer, newClientAnswer, pageAnswer, planAnswer, secretAnswer } from './answers.ts'
import {
  changeClient,
  createClient,
  listClients,
  readClient,
  readClientPlan,
  removeClient,
  renewSecret,
} from './clients.ts'
import { byId, doc, type Gate, pageOf, pageQuery } from './gate.ts'
import { adminScopes } from './scopes.ts'

const scope = adminScopes.clients
const path = '/admin/v1/clients'

/** Clients: register, read, change, delete; a new secret. */
export function clientRoutes(http: Http, gate: Gate): void {
  readingRoutes(http, gate)
  changingRoutes(http, gate)
}

function readingRoutes(http: Http, { parts, check }: Gate): void {
  http.get(
    path,
    { schema: { ...doc('List clients', scope, pageAnswer(clientAnswer)), querystring: pageQuery } },
    async (request) => {
      await check(request, scope)
      const { after = '', limit = 50 } = request.query
      return pageOf(await listClients(parts, after, limit), limit, (client) => client.client_id)
    },
  )
  http.get(
    `${path}/:id`,
    { schema: { ...doc('Read a client', scope, clientAnswer), params: byId } },
    async (request) => {
      await check(request, scope)
      return readClient(parts, request.params.id)
    },
  )
  const plan = { ...doc('Read the plan of a client', 'read:users', planAnswer), params: byId }
  http.get(`${path}/:id/plan`, { schema: plan }, async (request) => {
    await check(request, 'read:users')
    return readClientPlan(parts, request.params.id)
  })
}

function changingRoutes(http: Http, { parts, check, changed }: Gate): void {
  http.post(
    path,
    { schema: { ...doc('Register a client', scope, newClientAnswer, 201), body: ClientDeclaration } },
    async (request, reply) => {
      const caller = await check(request, scope)
      const made = await createClient(parts, request.body)
      await changed(request, caller, 'client created', { clientId: made.client_id })
      return reply.code(201).send(made)
    },
  )
  const change = { ...doc('Change a client', scope, clientAnswer), params: byId, body: ClientPatch }
  http.patch(`${path}/:id`, { schema: change }, async (request) => {
    const caller = await check(request, scope)
    const client = await changeClient(parts, request.params.id, request.body)
    await changed(request, caller, 'client changed', { clientId: client.client_id })
    return client
  })
  http.delete(`${path}/:id`, { schema: { ...doc('Delete a client', scope), params: byId } }, async (request, reply) => {
    const caller = await check(request, scope)
    await removeClient(parts, request.params.id)
    await changed(request, caller, 'client deleted', { clientId: request.params.id })
    return reply.code(204).send()
  })
  http.post(
    `${path}/:id/secret`,
    { schema: { ...doc('Renew a secret', scope, secretAnswer), params: byId } },
    async (request) => {
      const caller = await check(request, scope)
      const renewed = await renewSecret(parts, request.params.id)
      await changed(request, caller, 'client secret renewed', { clientId: request.params.id })
      return renewed
    },
  )
}
