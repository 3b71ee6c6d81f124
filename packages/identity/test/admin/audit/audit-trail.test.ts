import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ManagementChange } from '@gatehouse/kit'
import { postgresIdentityStore } from '../../../src/postgres/index.ts'
import { responseOf, service, setupOnce } from '../../support/setup.ts'

const auditor = {
  client_id: 'auditor',
  client_secret: 'auditor-secret-01234',
  scopes: ['admin:audit', 'read:personal-data'],
}
const masked = { client_id: 'masked', client_secret: 'masked-secret-012345', scopes: ['read:audit'] }
const services = { client_id: 'services', client_secret: 'services-secret-0123', scopes: ['write:audit'] }
const running = setupOnce({ declared: { clients: [auditor, masked, services, service], users: [] } })

async function call(client: typeof auditor, method: 'GET' | 'POST', url: string, payload?: object) {
  const { client_id, client_secret } = client
  const token = await running.post('/token', { grant_type: 'client_credentials', client_id, client_secret })
  const headers = { authorization: `Bearer ${token.body.access_token}` }
  return responseOf(await running.http.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) }))
}

const items = async (query: string) =>
  (await call(auditor, 'GET', `/admin/v1/audit-events?${query}`)).body.items as Record<string, unknown>[]

const change: ManagementChange = {
  service: 'notify',
  action: 'templates.update',
  actor: { subject: 'alice', role: 'gatehouse-owner', clientId: 'console', address: '192.0.2.7', requestId: 'r-1' },
  target: { type: 'template', id: 'order.shipped' },
  before: { subject: 'Shipped' },
  after: { subject: 'On its way' },
}

test('a change by another service in this process is recorded with actor, target and members', async () => {
  await running.identity.recordChange(change)
  const [event] = await items('actor=alice&request_id=r-1')
  const { id: _id, at: _at, ...rest } = event ?? {}
  assert.deepEqual(rest, {
    type: 'management',
    service: 'notify',
    actor: 'alice',
    role: 'gatehouse-owner',
    client_id: 'console',
    address: '192.0.2.7',
    request_id: 'r-1',
    action: 'templates.update',
    target: { type: 'template', id: 'order.shipped' },
    before: { subject: 'Shipped' },
    after: { subject: 'On its way' },
    details: {},
  })
})

test('a service in another process records its changes with the scope write:audit only', async () => {
  const sent = {
    service: 'gateway',
    action: 'limits.reset',
    actor: { subject: 'bob', client_id: 'console', request_id: 'r-2' },
    target: { type: 'user', id: 'carol' },
  }
  assert.equal((await call(auditor, 'POST', '/admin/v1/audit-events', sent)).status, 403)
  assert.equal((await call(services, 'POST', '/admin/v1/audit-events', sent)).status, 204)
  const [event] = await items('service=gateway')
  assert.deepEqual([event?.actor, event?.action, event?.subject], ['bob', 'limits.reset', 'carol'])
  const malformed = await call(services, 'POST', '/admin/v1/audit-events', { ...sent, actor: 'bob' })
  assert.equal(malformed.status, 400)
})

test('the audit trail is filtered by address', async () => {
  const actor = { ...change.actor, address: '198.51.100.7', requestId: 'r-7' }
  await running.identity.recordChange({ ...change, actor })
  assert.deepEqual(
    (await items('address=198.51.100.7')).map((event) => event.request_id),
    ['r-7'],
  )
  assert.deepEqual(await items('address=198.51.100.8'), [])
})

test('whoever sees addresses masked cannot filter the audit trail by one', async () => {
  for (const path of ['/admin/v1/audit-events', '/admin/v1/audit-events/export']) {
    const refused = await call(masked, 'GET', `${path}?address=198.51.100.7`)
    assert.equal(refused.status, 403)
    assert.match(String(refused.headers['www-authenticate']), /insufficient_scope", scope="read:personal-data"/)
    assert.equal((await call(masked, 'GET', `${path}?actor=nobody`)).status, 200)
  }
})

test('the audit trail is filtered by actor, client, service and request, in either order', async () => {
  for (const requestId of ['r-3', 'r-4', 'r-5'])
    await running.identity.recordChange({ ...change, actor: { ...change.actor, subject: 'dora', requestId } })
  const requests = async (query: string) => (await items(query)).map((event) => event.request_id)
  assert.deepEqual(await requests('actor=dora'), ['r-5', 'r-4', 'r-3'])
  assert.deepEqual(await requests('actor=dora&order=asc'), ['r-3', 'r-4', 'r-5'])
  assert.deepEqual(await requests('client_id=console&service=notify&request_id=r-4'), ['r-4'])
  assert.deepEqual(await requests('actor=dora&service=gateway'), [])
  const first = await call(auditor, 'GET', '/admin/v1/audit-events?actor=dora&limit=2')
  assert.deepEqual(await requests(`actor=dora&limit=2&cursor=${first.body.next}`), ['r-3'])
})

test('what retention removed is named, once something was removed and not before', async () => {
  const page = async () => (await call(auditor, 'GET', '/admin/v1/audit-events')).body
  await running.identity.recordChange(change)
  const { purge } = postgresIdentityStore(running.database)
  const now = running.clock.now()
  await purge.purge(now, now - 86_400_000, 500)
  assert.equal((await page()).removed_before, undefined, 'nothing was old enough')
  await purge.purge(now, now + 1, 500)
  const { items: left, removed_before: removed } = await page()
  assert.equal(removed, new Date(now + 1).toISOString())
  assert.ok((left as { at: string }[]).every(({ at }) => at >= String(removed)))
  await purge.purge(now, now - 86_400_000, 500)
  assert.equal((await page()).removed_before, removed, 'a longer retention brings nothing back')
})
