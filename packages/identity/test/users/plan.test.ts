import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clients, getTokens, users } from '../support/journey.ts'
import { service, serviceToken, setupOnce } from '../support/setup.ts'

const running = setupOnce({ declared: { clients: [...clients, service], users } })

test('GET /users/{id} returns only id and plan, to callers with read:users', async () => {
  const ask = async (id: string, scope: string) => {
    const authorization = `Bearer ${await serviceToken(running, scope)}`
    return running.http.inject({ url: `/users/${id}`, headers: { authorization } })
  }
  assert.deepEqual((await ask('alice', 'read:users')).json(), { id: 'alice', plan: 'pro' })
  assert.equal((await ask('nobody', 'read:users')).statusCode, 404)
  assert.equal((await ask(service.client_id, 'read:users')).statusCode, 404)
  assert.equal((await ask('alice', 'write:notifications')).statusCode, 403)
  assert.equal((await running.http.inject('/users/alice')).statusCode, 401)
  assert.deepEqual(await running.identity.planOf(service.client_id), { plan: 'free' })
})

test('a user reads their own plan, and learns of no other user or client whether there is one', async () => {
  const { access_token } = await getTokens(running, { scope: 'openid read:users' })
  const ask = async (url: string) => {
    const { statusCode } = await running.http.inject({ url, headers: { authorization: `Bearer ${access_token}` } })
    return statusCode
  }
  assert.equal(await ask('/users/alice'), 200)
  for (const id of ['bob', 'nobody', service.client_id]) assert.equal(await ask(`/users/${id}`), 403, id)
  for (const id of [service.client_id, 'none']) assert.equal(await ask(`/admin/v1/clients/${id}/plan`), 403, id)
})
