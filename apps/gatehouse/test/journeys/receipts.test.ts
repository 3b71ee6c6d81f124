import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startFcm, startTwilio } from '@gatehouse/fakes'
import { freePort, temporaryFolder } from '@gatehouse/testing'
import { sharedSecrets } from '../support/apart.ts'
import { started } from '../support/program.ts'
import { declaredShop, eventually, openShop } from '../support/shop.ts'

const account = { accountSid: `AC${'1'.repeat(32)}`, authToken: 'the-token-of-the-account' }
const services = { ...sharedSecrets, LOG_LEVEL: 'info' }
const target = 'https://shop.example/orders/A-1'
const reader = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }

test('receipts and short links need no credential, are open to any origin, and are not logged', async () => {
  const [twilio, fcm] = [await startTwilio(account), await startFcm()]
  const folder = temporaryFolder('gatehouse-receipts')
  const config = join(folder, 'gatehouse.yaml')
  writeFileSync(join(folder, 'firebase.json'), fcm.serviceAccount)
  writeFileSync(
    config,
    `${declaredShop}event_types:
  - { event: order.shipped, channels: [sms, push], tracking: { sms: clicks } }
recipients:
  - { user_id: alice, phone_number: "+447700900123", devices: [{ device_id: phone, token: a-token, service: fcm }] }
providers:
  sms:
    - { provider: twilio, account_sid: ${account.accountSid}, auth_token: ${account.authToken}, from: "+15005550006", url: "${twilio.url}" }
  push:
    - { provider: fcm, service_account: ./firebase.json, url: "${fcm.url}" }
`,
  )
  const [backPort, gatewayPort] = [await freePort(), await freePort()]
  const [front, back] = [`http://localhost:${gatewayPort}`, `http://localhost:${backPort}`]
  const env = { ...services, AUTH_URL: back, BASE_URL: front, GATEHOUSE_CONFIG: config }
  const own = await started({ port: backPort, env: { ...env, SERVICES: 'identity,notify' } })
  const apart = { SERVICES: 'gateway', IDENTITY_URL: back, NOTIFY_URL: back }
  const gateway = await started({ port: gatewayPort, env: { ...env, ...apart } })
  const { shop, stateOf } = await openShop(front, ['sms', 'push'])
  for (const channel of ['sms', 'push'])
    await shop.call('PUT', `/v1/templates/order.shipped/${channel}/en`, { body: `It left: ${target} (today).` })
  const { id } = await shop.notify({ event: 'order.shipped', user_id: 'alice', data: { id: 'A-1' } })
  for (const channel of ['sms', 'push'])
    await eventually(
      () => stateOf(id, channel),
      (state) => state === 'sent',
    )

  const { body = '' } = twilio.requests[0] ?? assert.fail('no SMS was sent')
  const [, link = ''] = /^It left: (\S+) \(today\)\.$/.exec(body) ?? []
  const [, linkId = ''] = new RegExp(`^${front}/l/(\\w{12})$`).exec(link) ?? assert.fail(body)
  for (const url of [link, `${back}/l/${linkId}`]) {
    const answer = await fetch(url, { headers: reader, redirect: 'manual' })
    assert.deepEqual([answer.status, answer.headers.get('location')], [302, target])
    assert.equal(answer.headers.get('referrer-policy'), 'no-referrer')
  }
  assert.equal((await fetch(`${front}/l/${linkId.slice(1)}`, { redirect: 'manual' })).status, 404)
  await eventually(
    () => stateOf(id, 'sms'),
    (state) => state === 'clicked',
  )

  const { notification, data } = fcm.requests[0] ?? assert.fail('no push was sent')
  assert.ok(notification?.body?.includes(target), 'tracking is by channel')
  const token = data?.receipt_token ?? assert.fail('the push has no token')
  for (const [url, report] of [
    [front, 'delivered'],
    [back, 'opened'],
  ] as const) {
    const answer = await fetch(`${url}/v1/receipts`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: 'https://anywhere.example' },
      body: JSON.stringify({ receipts: [{ token, report }] }),
    })
    assert.deepEqual(await answer.json(), { results: [{ status: 'accepted' }] })
    assert.equal(answer.headers.get('access-control-allow-origin'), '*')
    assert.equal(answer.headers.get('access-control-allow-credentials'), null)
    assert.equal(await stateOf(id, 'push'), report)
    const preflight = await fetch(`${url}/v1/receipts`, {
      method: 'OPTIONS',
      headers: { origin: 'https://anywhere.example', 'access-control-request-method': 'POST' },
    })
    assert.equal(preflight.status, 204)
    assert.equal(preflight.headers.get('access-control-allow-origin'), '*')
    assert.equal(preflight.headers.get('access-control-allow-headers'), 'content-type')
  }
  const logs = [await gateway.stop(), await own.stop()].map(({ stdout }) => stdout).join('')
  await Promise.all([twilio.stop(), fcm.stop()])
  assert.ok(logs.includes('"path":"/v1/receipts"'))
  assert.ok(logs.includes(`"path":"/l/${linkId.slice(0, 4)}…"`))
  for (const secret of [linkId, token, target]) assert.ok(!logs.includes(secret), secret)
})
