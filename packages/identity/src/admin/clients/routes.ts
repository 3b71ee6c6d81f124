import type { Http } from '@gatehouse/kit'
import { ClientDeclaration, ClientPatch } from '../../config/declarations.ts'
import { byId, doc, type Gate, pageOf, pageQuery } from '../required-scope.ts'
import { clientAnswer, newClientAnswer, pageAnswer, planAnswer, secretAnswer } from '../responses.ts'
import { adminScopes, readScopes } from '../scopes.ts'
import {
  changeClient,
  createClient,
  listClients,
  readClient,
  readClientPlan,
  removeClient,
  renewSecret,
} from './clients.ts'

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
    { schema: { ...doc('clients.list', readScopes.clients, pageAnswer(clientAnswer)), querystring: pageQuery } },
    async (request) => {
      await check(request, readScopes.clients)
      const { after = '', limit = 50 } = request.query
      return pageOf(await listClients(parts, after, limit), limit, (client) => client.client_id)
    },
  )
  http.get(
    `${path}/:id`,
    { schema: { ...doc('clients.get', readScopes.clients, clientAnswer), params: byId } },
    async (request) => {
      await check(request, readScopes.clients)
      return readClient(parts, request.params.id)
    },
  )
  const plan = { ...doc('clients.getPlan', 'read:users', planAnswer), params: byId }
  http.get(`${path}/:id/plan`, { schema: plan }, async (request) => {
    await check(request, 'read:users')
    return readClientPlan(parts, request.params.id)
  })
}

function changingRoutes(http: Http, { parts, check }: Gate): void {
  http.post(
    path,
    { schema: { ...doc('clients.create', scope, newClientAnswer, 201), body: ClientDeclaration } },
    async (request, reply) => {
      const by = await check(request, scope)
      return reply.code(201).send(await createClient(parts, by, request.body))
    },
  )
  const change = { ...doc('clients.update', scope, clientAnswer), params: byId, body: ClientPatch }
  http.patch(`${path}/:id`, { schema: change }, async (request) => {
    const by = await check(request, scope)
    return changeClient(parts, by, request.params.id, request.body)
  })
  http.delete(`${path}/:id`, { schema: { ...doc('clients.delete', scope), params: byId } }, async (request, reply) => {
    const by = await check(request, scope)
    await removeClient(parts, by, request.params.id)
    return reply.code(204).send()
  })
  http.post(
    `${path}/:id/secret`,
    { schema: { ...doc('clients.rotateSecret', scope, secretAnswer), params: byId } },
    async (request) => {
      const by = await check(request, scope)
      return renewSecret(parts, by, request.params.id)
    },
  )
}
