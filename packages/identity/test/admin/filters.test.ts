import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { adminScopes } from '../../src/index.ts'
import { clients, getTokens, users } from '../support/journey.ts'
import { type Running, responseOf, setup } from '../support/setup.ts'

const scopes = [...Object.values(adminScopes), 'read:accounts']
const operator = { client_id: 'operator', client_secret: 'operator-secret-0123', scopes }
const made = [
  { client_id: 'shop-web', client_name: 'Shop', redirect_uris: ['https://shop.example/callback'] },
  { client_id: 'shop_worker', client_name: 'Orders 100%', scopes: ['orders:read'] },
  { client_id: 'reports', client_name: 'shopping report', scopes: ['orders:read', 'orders:write'] },
]

let running: Running
before(async () => {
  running = await setup({ declared: { clients: [...clients, operator, ...made], users } })
})
after(() => running.close())

async function list(path: string): Promise<{ status: number; items: Record<string, unknown>[]; next?: string }> {
  const { scopes: _, ...credentials } = operator
  const { body } = await running.post('/token', { grant_type: 'client_credentials', ...credentials })
  const headers = { authorization: `Bearer ${body.access_token}` }
  const answer = responseOf(await running.http.inject({ method: 'GET', url: `/admin/v1/${path}`, headers }))
  return { status: answer.status, items: [], ...answer.body }
}
const clientIds = async (query: string) => (await list(`clients?${query}`)).items.map((one) => one.client_id)
const keyNames = async (query: string) => (await list(`api-keys?${query}`)).items.map(({ name }) => name)

test('clients are found by the beginning of id or name, in any case, and by nothing in between', async () => {
  assert.deepEqual(await clientIds('q=SHOP'), ['reports', 'shop-web', 'shop_worker'])
  assert.deepEqual(await clientIds('q=shop_'), ['shop_worker'])
  assert.deepEqual(await clientIds('q=orders%20100%25'), ['shop_worker'])
  assert.deepEqual(await clientIds('q=hop'), [])
})

test('clients are filtered by grant type and scope, also together and across pages', async () => {
  assert.deepEqual(await clientIds('scope=orders:read'), ['reports', 'shop_worker'])
  assert.deepEqual(await clientIds('q=shop&grant_type=authorization_code'), ['shop-web'])
  assert.equal((await list('clients?grant_type=password')).status, 400)
  const first = await list('clients?scope=orders:read&limit=1')
  assert.deepEqual(
    first.items.map((one) => one.client_id),
    ['reports'],
  )
  assert.deepEqual(await clientIds(`scope=orders:read&limit=1&cursor=${first.next}`), ['shop_worker'])
})

test('API keys are found by owner, name, and the beginning of the key', async () => {
  const { management } = running.identity
  const owned = await management.createApiKey({ owner: 'alice', name: 'Nightly report' })
  await management.createApiKey({ owner: 'reports', name: 'night shift' })
  assert.deepEqual(await keyNames('owner=alice'), ['Nightly report'])
  assert.deepEqual(await keyNames('q=night'), ['night shift', 'Nightly report'])
  assert.deepEqual(await keyNames('q=night&owner=reports'), ['night shift'])
  assert.deepEqual(await keyNames(`q=${owned.prefix}`), ['Nightly report'])
  assert.deepEqual(await keyNames(`q=${owned.key}`), ['Nightly report'], 'of a whole key its beginning is read')
  assert.deepEqual(await keyNames('q=gk______'), [])
})

test('the grants of a client are listed until they are revoked, the newest first', async () => {
  const [client = assert.fail('no web client')] = clients
  const granted = async () => (await list(`clients/${client.client_id}/grants`)).items
  assert.deepEqual(await granted(), [])
  await getTokens(running, { client: client.client_id, scope: 'openid' })
  const [grant, ...more] = await granted()
  assert.deepEqual([grant?.user_id, grant?.scopes, more.length], ['alice', ['openid'], 0])
  await running.identity.management.withdrawConsent('alice', client.client_id)
  assert.deepEqual(await granted(), [])
  assert.equal((await list('clients/nobody/grants')).status, 404)
})
