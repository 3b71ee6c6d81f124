import assert from 'node:assert/strict'
import { test } from 'node:test'
import { service, serviceToken, setupOnce } from '../support/setup.ts'

const running = setupOnce()

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
