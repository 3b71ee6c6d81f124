import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { started } from '../../support/program.ts'

const folder = mkdtempSync(join(tmpdir(), 'api-keys-'))
after(() => rmSync(folder, { recursive: true }))

const operator = { client_id: 'operator', client_secret: 'the-secret-of-the-operator' }

test("an API key has the reach of its owner: a user's own things, a client's whole service", async () => {
  const file = join(folder, 'gatehouse.yaml')
  writeFileSync(
    file,
    `clients:
  - client_id: ${operator.client_id}
    client_secret: ${operator.client_secret}
    scopes: ['admin:users', 'admin:api-keys', 'admin:limits', 'admin:notifications', 'write:notifications']
users:
  - { id: alice, password: correct horse battery }
  - { id: mallory, password: battery staple horse }
`,
  )
  const program = await started({ env: { GATEHOUSE_CONFIG: file } })
  const body = new URLSearchParams({ ...operator, grant_type: 'client_credentials' })
  const answer = await fetch(`${program.url}/token`, { method: 'POST', body })
  const { access_token } = (await answer.json()) as { access_token: string }
  const send = async (method: string, path: string, headers: Record<string, string>, body?: object) => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const sent = { method, headers: { ...headers, ...type }, body: body === undefined ? null : JSON.stringify(body) }
    const { status, text } = await fetch(`${program.url}${path}`, sent).then(async (one) => ({
      status: one.status,
      text: await one.text(),
    }))
    return { status, body: text === '' ? {} : JSON.parse(text) }
  }
  const asOperator = { authorization: `Bearer ${access_token}` }
  const keyOf = async (owner: string, scopes: string[]) =>
    (await send('POST', '/admin/v1/api-keys', asOperator, { owner, name: owner, scopes, plan: 'unlimited' })).body
      .key as string
  const alice = { 'x-api-key': await keyOf('alice', ['read:notifications', 'write:preferences']) }
  const client = { 'x-api-key': await keyOf('operator', ['write:notifications']) }

  await send('PUT', '/v1/templates/hello/in-app/en', asOperator, { body: 'Hello.' })
  await send('PUT', '/v1/event-types/hello', asOperator, { channels: ['in-app'] })
  const about = async (user_id: string) => {
    const made = await send('POST', '/v1/notify', client, { event: 'hello', user_id, data: {} })
    assert.equal(made.status, 202, JSON.stringify(made.body))
    return `/v1/notifications/${made.body.id}`
  }
  const [hers, others] = [await about('alice'), await about('mallory')]
  assert.equal((await send('GET', hers, alice)).status, 200)
  const another = await send('GET', others, alice)
  assert.ok([403, 404].includes(another.status), String(another.status))
  assert.equal((await send('GET', others, client)).status, 200)
  const preferences = { event_type: '*', channels: ['email'] }
  const own = await send('PUT', '/v1/users/alice/preferences', alice, preferences)
  const foreign = await send('PUT', '/v1/users/mallory/preferences', alice, preferences)
  const device = { token: 'a-token-of-the-push-service' }
  const registered = await send('PUT', '/v1/users/mallory/devices/phone', alice, device)
  assert.deepEqual([own.status, foreign.status, registered.status], [200, 403, 403])

  assert.equal((await send('PATCH', '/admin/v1/users/alice', asOperator, { locked: true })).status, 200)
  while ((await send('GET', hers, alice)).status === 200);
  assert.equal((await send('GET', hers, alice)).status, 401, 'a locked user has no key')
  assert.equal((await program.stop()).code, 0)
})

test('no API key holds the mails of identity, though the client that owns it does', async () => {
  const file = join(folder, 'reserved.yaml')
  const scopes = ['admin:api-keys', 'write:reserved-mails']
  writeFileSync(file, JSON.stringify({ clients: [{ ...operator, grant_types: ['client_credentials'], scopes }] }))
  const program = await started({ env: { GATEHOUSE_CONFIG: file } })
  const body = new URLSearchParams({ ...operator, grant_type: 'client_credentials' })
  const { access_token } = (await (await fetch(`${program.url}/token`, { method: 'POST', body })).json()) as {
    access_token: string
  }
  const answer = await fetch(`${program.url}/admin/v1/api-keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ owner: operator.client_id, name: 'mails', scopes: ['write:reserved-mails'] }),
  })
  assert.equal(answer.status, 422, await answer.clone().text())
  assert.match(await answer.text(), /unlike write:reserved-mails/)
  await program.stop()
})
