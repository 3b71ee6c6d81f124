import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { freePort, temporaryFolder } from '@gatehouse/testing'
import { root, started } from '../support/program.ts'
import { declaredShop, eventually, openShop } from '../support/shop.ts'

const base = `${declaredShop}event_types:
  - event: order.shipped
    channels: [push, email, sms]
recipients:
  - user_id: alice
    email: alice@example.com
    phone_number: "+447700900123"
`

const running = new Set<ChildProcess>()
after(() => {
  for (const child of running) child.kill('SIGKILL')
})

/** `npm run fakes`, as its user runs it, with what it printed once it was up. */
async function startFakes(
  options: readonly string[],
): Promise<{ readonly printed: string; readonly child: ChildProcess }> {
  const args = ['fakes/src/serve.ts', '--port', '0', ...options]
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  running.add(child)
  child.once('exit', () => running.delete(child))
  let printed = ''
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    printed += chunk
    if (/^control .*\n/m.test(printed)) break
  }
  return { printed, child }
}

async function control(address: string, path: string, body?: object) {
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const answer = await fetch(`${address}${path}`, body === undefined ? {} : post)
  const text = await answer.text()
  assert.ok(answer.ok, `${path}: ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}

interface Requests {
  readonly requests: ReadonlyArray<Record<string, unknown>>
  readonly refusals: readonly string[]
}

test('the configuration that the fakes write delivers to them and receives their reports', async () => {
  const folder = temporaryFolder('gatehouse-fakes')
  const [port, ownFile, file] = [await freePort(), join(folder, 'own.yaml'), join(folder, 'gatehouse.yaml')]
  writeFileSync(ownFile, base)
  const { printed } = await startFakes(['--gatehouse', `http://localhost:${port}`, '--base', ownFile, '--write', file])
  const [, address = ''] = /^control +(\S+)/m.exec(printed) ?? []
  const program = await started({ port, env: { GATEHOUSE_CONFIG: file } })
  const { shop, stateOf } = await openShop(program.url, ['push', 'email', 'sms'])
  const { token } = await control(address, '/web-push/subscribe', {})
  const devices = [
    ['phone', 'fcm', 'a-token-of-fcm'],
    ['tablet', 'apns', 'ab'.repeat(32)],
    ['browser', 'web', token],
    ['watch', 'other', 'a-token-of-another'],
  ] as const
  for (const [id, service, each] of devices)
    await shop.call('PUT', `/v1/users/alice/devices/${id}`, { service, token: each })
  const readRequests = (kind: string) => control(address, `/${kind}/requests`) as Promise<Requests>

  const { id } = await shop.notify({ event: 'order.shipped', user_id: 'alice', data: { id: 'A-1' } })
  for (const kind of ['smtp', 'fcm', 'apns', 'web-push', 'http', 'twilio']) {
    const { requests, refusals } = await eventually(
      () => readRequests(kind),
      (answer) => answer.requests.length > 0,
    )
    assert.match(JSON.stringify(requests), /Order A-1 left/, kind)
    assert.deepEqual([requests.length, refusals], [1, []], kind)
  }
  for (const channel of ['push', 'email', 'sms'])
    await eventually(
      () => stateOf(id, channel),
      (state) => state === 'sent',
    )

  assert.deepEqual(await control(address, '/twilio/webhook', { what: 'delivered' }), { status: 204 })
  assert.deepEqual(await control(address, '/smtp/webhook', { what: 'bounced' }), { status: 204 })
  assert.deepEqual(await control(address, '/http/webhook', { what: 'opened', name: 'http-push' }), { status: 204 })
  await eventually(
    () => stateOf(id, 'sms'),
    (state) => state === 'delivered',
  )
  await eventually(
    () => stateOf(id, 'email'),
    (state) => state === 'bounced',
  )
  await eventually(
    () => stateOf(id, 'push'),
    (state) => state === 'opened',
  )

  for (const kind of ['fcm', 'apns', 'web-push', 'http']) await control(address, `/${kind}/next`, { behaviour: 'gone' })
  await shop.notify({ event: 'order.shipped', user_id: 'alice', data: { id: 'A-2' }, channels: ['push'] })
  const { items: left } = await eventually(
    () =>
      shop.call('GET', '/v1/users/alice/devices') as Promise<{
        items: ReadonlyArray<{ device_id: string; dead_at?: string; dead_reason?: string }>
      }>,
    (answer) => answer.items.every(({ dead_at }) => dead_at !== undefined),
  )
  assert.equal(left.length, 4)
  assert.match(left.find(({ device_id }) => device_id === 'tablet')?.dead_reason ?? '', /Unregistered/)

  await control(address, '/twilio/next', { behaviour: { status: 401 } })
  const { id: third } = await shop.notify({
    event: 'order.shipped',
    user_id: 'alice',
    data: { id: 'A-3' },
    channels: ['sms'],
  })
  await eventually(
    () => readRequests('http'),
    ({ requests }) => JSON.stringify(requests).includes('A-3'),
  )
  await eventually(
    () => stateOf(third, 'sms'),
    (state) => state === 'sent',
  )
  await program.stop()
})

test('the fakes print the providers section when they write no file, and end on a signal', async () => {
  const { printed, child } = await startFakes([])
  for (const kind of ['smtp', 'ses', 'sendgrid', 'fcm', 'apns', 'web-push', 'twilio', 'http'])
    assert.ok(printed.includes(`"provider":"${kind}"`), kind)
  child.kill('SIGTERM')
  assert.deepEqual(await once(child, 'exit'), [0, null])
})

test('the control of the fakes says what it needs when it is asked for something else', async () => {
  const { printed } = await startFakes([])
  const [, address = ''] = /^control +(\S+)/m.exec(printed) ?? []
  const post = async (path: string, body: object, type: string = 'application/json') => {
    const answer = await fetch(`${address}${path}`, {
      method: 'POST',
      headers: { 'content-type': type },
      body: JSON.stringify(body),
    })
    return `${answer.status} ${await answer.text()}`
  }
  assert.match(await post('/fcm/next', { behaviour: 'sulk' }), /^400 .*behaviour must be/s)
  assert.match(await post('/fcm/next', { behaviour: 'hang', times: 0 }), /^400 .*times must be/s)
  assert.match(await post('/fcm/next', { behaviour: 'hang' }, 'text/plain'), /^400 .*application\/json/s)
  assert.match(await post('/fcm/webhook', { what: 'delivered', message: 'a' }), /^400 .*fcm reports nothing/s)
  assert.match(await post('/twilio/webhook', { what: 'delivered' }), /^400 .*id of a message/s)
  assert.match(await post('/pigeon/next', {}), /^404 .*there are smtp, ses/s)
})
